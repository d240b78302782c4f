// The tenants directly below the one that is shown, a page at a time: the figures of each count for the rate.
import type { SendOperation } from '../api.ts'
import { formatMoney, formatNumberOf, nameCurrency } from '../format.ts'
import { DashboardTenantsBelow, type DashboardTenantsBelowQuery } from '../operations.ts'
import { Empty, Failure, Placeholder } from '../states.tsx'
import { type Column, DataTable, readSort, sortText, tableCsv } from '../tables/data-table.tsx'
import { ListDownload } from '../tables/list-download.tsx'
import { isPart, Pager, pageOf, useFirstPage } from '../tables/pager.tsx'
import { WholeTable } from '../tables/whole-table.tsx'
import { useAnswer } from '../use-answer.ts'
import type { Go, View } from '../view.ts'
import { ViewLink } from '../view-link.tsx'
import { balanceIn, type Currency, currenciesOf, salesIn } from './model.ts'
import { salesColumns } from './sales-columns.ts'
import { fileOf, paramsIn, type TableProps } from './tables.tsx'

/** How many tenants a page has. Each counts as six operations: a page fits in the rate of a usual token, 120 a minute. */
const pageSize = 10

/** The most tenants of one file: some three minutes of the rate of an administrator's token. */
const most = 500

type TenantBelow = NonNullable<NonNullable<DashboardTenantsBelowQuery['tenant']>['children']>['nodes'][number]

/** The tenants directly below, compared with each other. */
export function TenantTable({ view, go, currency: chosen, request }: TableProps & { request: SendOperation }) {
  const { tenant, from, to, timeZone, params } = view
  const query = { tenant, period: { from, to }, timeZone }
  const answer = useAnswer(request, DashboardTenantsBelow, { ...query, ...pageOf(params, pageSize) })
  const children = answer.data?.tenant?.children
  useFirstPage(answer.isCurrent && !children, params, paramsIn(go))
  if (answer.error) return <Failure error={answer.error} what="The tenants" retry={answer.reload} />
  if (!children) {
    return answer.isCurrent ? (
      <Empty text="The tenants could not be read. A message above the figures says why." />
    ) : (
      <Placeholder kind="table" />
    )
  }
  const { nodes, pageInfo, totalCount } = children
  // A tenant without vouchers of its own has no currency: then that of most tenants below it.
  const totals = nodes.flatMap(({ figures }) => figures?.totals ?? [])
  const known = currenciesOf({ totals, outstanding: [] })
  const currency = chosen ?? known[0] ?? null
  const columns = columnsOf(view, go, currency)
  const label = 'Tenants below'
  const amounts = chosen === null && known.length === 0 ? '' : `, in ${nameCurrency(currency)}`
  const note = `Each with the tenants below it${amounts}.`
  const [onParams, file] = [paramsIn(go), fileOf('tenants', view)]
  if (!isPart(pageInfo)) {
    const empty = 'No tenants are below this one, or the token may not see them.'
    return <WholeTable {...{ label, note, empty, columns, params, onParams, file }} rows={nodes} />
  }
  return (
    <>
      <div class="table-tools">
        <p>
          {formatNumberOf(totalCount, 'tenant')} by name. {note} The columns sort this page.
        </p>
        <ListDownload
          {...{ most, file }}
          noun="tenant"
          whenCut="Choose a tenant below for the others."
          total={totalCount}
          readPage={async (after, signal) => {
            const { tenant } = await request(DashboardTenantsBelow, { ...query, first: pageSize, after }, signal)
            return tenant?.children
          }}
          toCsv={(rows: readonly TenantBelow[]) => tableCsv(columns, rows)}
        />
      </div>
      <DataTable
        {...{ label, columns }}
        rows={nodes}
        sort={readSort(params.sort)}
        onSort={next => onParams({ sort: sortText(next) })}
        busy={answer.loading}
      />
      <Pager label="Pages of tenants" pageInfo={pageInfo} onPage={page => go({ params: page })} />
    </>
  )
}

function columnsOf(view: View, go: Go, currency: Currency): Column<TenantBelow>[] {
  const outstanding = ({ figures }: TenantBelow) =>
    figures?.outstanding ? balanceIn(figures.outstanding, currency).balance : null
  return [
    {
      heading: 'Tenant',
      cell: ({ databaseId, name }) => (
        <ViewLink {...{ view, go }} change={{ tenant: String(databaseId) }}>
          {name}
        </ViewLink>
      ),
      sortBy: ({ name }) => name,
    },
    ...salesColumns<TenantBelow>(currency, ({ figures }) =>
      figures?.totals ? salesIn(figures.totals, currency) : null,
    ),
    {
      heading: 'Outstanding',
      csvHeading: `Outstanding (${nameCurrency(currency)})`,
      cell: row => {
        const balance = outstanding(row)
        return balance === null ? '–' : formatMoney(balance, currency)
      },
      sortBy: outstanding,
      numeric: true,
    },
  ]
}
