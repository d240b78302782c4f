import type { Config } from '../config/config.ts'
import { adminPath, dashboardPath, docsPath, graphiqlPath } from '../http/paths.ts'

/**
 * Returns the settings that the header of all pages depends on.
 *
 * @param isDemo true when the service is the demo, in which a browser on the same machine needs no password
 * @param hasTill true when the demo has a platform that redeems vouchers
 */
export const describeSite = ({ graphiql, publicUrl }: Config, isDemo: boolean, hasTill: boolean) => ({
  graphiql,
  /** With `PUBLIC_URL` the API access page works only under the origin of this URL. */
  adminAddress: `${publicUrl ?? ''}${adminPath}`,
  isDemo,
  hasTill,
})

export type Site = ReturnType<typeof describeSite>

/** A page to which the header links, with its name in the header. */
export interface SitePage {
  name: 'Dashboard' | 'GraphiQL' | 'Docs' | 'API access'
  address: string
}

/** Returns the pages that are served, in the order of the header. */
export const listSitePages = ({ graphiql, adminAddress }: Site): SitePage[] => [
  { name: 'Dashboard', address: dashboardPath },
  ...(graphiql ? [{ name: 'GraphiQL', address: graphiqlPath } as const] : []),
  { name: 'Docs', address: docsPath },
  { name: 'API access', address: adminAddress },
]
