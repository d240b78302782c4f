// The paths from which the script of the tenant picker loads what it shows.
import { adminPath } from '../../http/paths.ts'
import { parentText } from './state.ts'

/** The path of the lists, to which the form is posted. */
export const listsPath = `${adminPath}/tenants`

/** Returns the path of the part of a level that follows a tenant, or of its start. */
export const levelPath = (parentId: number | null, afterId?: number): string =>
  `${listsPath}?${new URLSearchParams({ below: parentText(parentId), ...(afterId !== undefined && { after: String(afterId) }) })}`
