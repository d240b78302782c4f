/** Reports what a copy contains, without requests to the service. */
import { tenantListNames } from '#client'
import { Checkpoint, type ListState, newListState } from './checkpoint.ts'
import { exitCodes, SyncError } from './errors.ts'
import type { ListStatus } from './event.ts'
import type { ReportEvent } from './report.ts'
import type { CopyReader } from './store.ts'

/**
 * Reports the position, the age and the counts of a copy.
 *
 * @param to the target as messages show it @param reader the copy; null when there is no copy
 * @throws SyncError when there is no copy, or when the first pass has not ended
 */
export async function reportStatus(to: string, reader: CopyReader | null, report: ReportEvent): Promise<void> {
  const { copy, tenants } = new Checkpoint(reader?.positions ?? new Map())
  if (!reader || !copy) throw new SyncError(exitCodes.failed, `There is no copy in ${to}.`)
  const published = new Checkpoint(reader.published ?? reader.positions)
  const counts = new Map((await reader.counts()).map(each => [`${each.list} ${each.tenantId}`, each.count]))
  const lists = [...tenants].flatMap(([tenant, { lists }]) =>
    tenantListNames.flatMap(list => {
      if (!lists[list]) return []
      // When only the journal has the latest records of a list, the list is not yet in step for a reader of the files.
      const found = (published.tenants.has(tenant) && published.tenant(tenant).lists[list]) || newListState
      const { state, bound } =
        describeListState(lists[list]).state === 'in_step' ? describeListState(found) : describeListState(lists[list])
      const records = counts.get(`${list} ${tenant}`) ?? 0
      return [{ event: 'list' as const, tenant, list, records, state, server_time: bound }]
    }),
  )
  const isFinished = tenants.size > 0 && published.copy !== null && lists.every(({ state }) => state !== 'reading')
  const bounds = [
    ...[...published.tenants.keys()].map(tenant => published.tenant(tenant).removals.bound),
    ...lists.flatMap(({ state, server_time: bound }) => (state === 'in_step' && bound !== null ? [bound] : [])),
  ]
  // All bounds have the same format, so they can be compared as texts.
  const earliest = isFinished ? (bounds.sort()[0] ?? null) : null
  report({
    event: 'copy',
    url: copy.source,
    to,
    tenants: tenants.size,
    server_time: earliest,
    age_seconds: earliest === null ? null : Math.max(0, Math.round((Date.now() - Date.parse(earliest)) / 1000)),
  })
  for (const list of lists) report(list)
  if (isFinished) return
  throw new SyncError(
    exitCodes.unfinished,
    'The copy is not in step: a pass over its lists has not ended. Run the sync to its end: it continues from its checkpoint.',
  )
}

const describeListState = ({ bound, refused, swept }: ListState): { state: ListStatus; bound: string | null } => ({
  state: refused ? 'refused' : bound !== null && swept ? 'in_step' : 'reading',
  bound,
})
