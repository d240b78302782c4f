/** Reports the content of a copy, from the copy alone. */
import { tenantListNames } from '#client'
import { Checkpoint, type ListState } from './checkpoint.ts'
import { exitCodes, SyncError } from './errors.ts'
import type { ListStatus, ReportEvent } from './report.ts'
import type { CopyReader } from './store.ts'

/**
 * Reports the position, the age and the counts of a copy.
 *
 * @param to the place as messages name it
 * @param reader the copy; null when there is none
 * @throws SyncError when there is no copy
 */
export async function reportStatus(to: string, reader: CopyReader | null, report: ReportEvent): Promise<void> {
  const { copy, tenants } = new Checkpoint(reader?.positions ?? new Map())
  if (!reader || !copy) throw new SyncError(exitCodes.failed, `There is no copy in ${to}.`)
  const counts = new Map((await reader.counts()).map(each => [`${each.list} ${each.tenantId}`, each.count]))
  const states = [...tenants].flatMap(([tenant, { lists }]) =>
    tenantListNames.flatMap(list => (lists[list] ? [{ tenant, list, state: lists[list] }] : [])),
  )
  const bounds = [
    ...[...tenants.values()].map(({ removals }) => removals.bound),
    ...states.flatMap(({ state }) => (statusOf(state) === 'in_step' ? [state.bound] : [])),
  ]
  const isRead = states.length > 0 && states.every(({ state }) => statusOf(state) !== 'reading')
  // Bounds can be compared as texts.
  const earliest = isRead ? (bounds.sort()[0] ?? null) : null
  report({
    event: 'copy',
    url: copy.source,
    to,
    tenants: tenants.size,
    server_time: earliest,
    age_seconds: earliest === null ? null : Math.max(0, Math.round((Date.now() - Date.parse(earliest)) / 1000)),
  })
  for (const { tenant, list, state } of states) {
    const records = counts.get(`${list} ${tenant}`) ?? 0
    report({ event: 'list', tenant, list, records, state: statusOf(state), server_time: state.bound })
  }
}

function statusOf({ bound, refused, swept }: ListState): ListStatus {
  if (refused) return 'refused'
  return bound !== null && swept ? 'in_step' : 'reading'
}
