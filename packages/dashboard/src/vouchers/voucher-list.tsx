// The list of the purchased vouchers of the view. The API filters, sorts and pages the vouchers.
import type { SendOperation } from '../api.ts'
import { badgeClassOf, nameStatus } from '../figures/status-words.ts'
import { formatCountOf, formatDay, formatDays, formatMoney, nameCurrency } from '../format.ts'
import { LiveContext } from '../live.ts'
import { DashboardVoucherCount, DashboardVouchers, type PurchasedVoucherTextField } from '../operations.ts'
import { dayIn } from '../period.ts'
import { Empty, Failure, Placeholder } from '../placeholders.tsx'
import { type Column, DataTable } from '../tables/data-table.tsx'
import { type PageInfo, Pager, pageOf, useFirstPage } from '../tables/pager.tsx'
import { useAnswer } from '../use-answer.ts'
import { useView } from '../use-view.ts'
import type { Params } from '../view.ts'
import { ViewLink } from '../view-link.tsx'
import { Customers } from './customers.tsx'
import { dropUnknownOrder, filterNames, noFilters, readOrder, resolveFilters, toQuery } from './filter.ts'
import { Filters, type ProductChoice } from './filters.tsx'
import { FoundIn, Marked } from './match.tsx'
import type { ListedVoucher, VoucherMatch } from './voucher.ts'
import { VoucherDownload } from './voucher-download.tsx'

/** The number of vouchers per page. */
const pageSize = 25

interface VoucherListProps {
  request: SendOperation
  /** The time zone of the days in filters. */
  timeZone: string
  /** The currency that the dashboard shows. */
  currency: string | null
  currencies: readonly string[]
  /** The products that the filter offers. */
  products: readonly ProductChoice[]
  /** The permissions of the token, which decide the fields in which a text is searched. */
  permissions: readonly string[]
}

/** Shows the purchased vouchers of the view, with filters, a download and pages. */
export function VoucherList(props: VoucherListProps) {
  const { request, timeZone, currency, currencies, products, permissions } = props
  const { view, go } = useView()
  const { tenant, withDescendants } = view
  const given = dropUnknownOrder(view.params)
  const params = resolveFilters(given, view, currency)
  const query = { tenant, withDescendants, ...toQuery(params, { timeZone, currency }) }
  const text = query.filter?.text ?? ''
  const findsRecipients = permissions.includes('redeem_vouchers')
  const findsCustomers = permissions.includes('export_customer_information')
  const matches = { withMatches: text !== '', withRecipients: findsRecipients }
  const list = useAnswer(request, DashboardVouchers, { ...query, ...matches, ...pageOf(params, pageSize) })
  const count = useAnswer(request, DashboardVoucherCount, { tenant, withDescendants, filter: query.filter ?? null })
  const found = list.data?.tenant?.purchasedVouchers
  const total = count.data?.tenant?.purchasedVouchers?.count
  const setParams = (changed: Params, how: 'push' | 'replace' = 'push') => {
    // Removes `of=view` when the viewer changes a filter that `of=view` has set.
    const isOwn = ['bought-from', 'bought-to', 'in'].some(name => name in changed)
    go({ params: { ...(isOwn ? { ...params, of: '' } : given), after: '', before: '', ...changed } }, how)
  }
  useFirstPage(list.isCurrent && !found, params, page => setParams(page, 'replace'))
  const isFiltered = filterNames.some(name => name !== 'sort' && name !== 'after' && name !== 'before' && params[name])
  return (
    <>
      <Filters
        {...{ params, currency, currencies, products, isFiltered, findsRecipients, findsCustomers }}
        onChange={setParams}
        onClear={() => setParams({ ...noFilters, sort: params.sort ?? '' })}
      />
      {findsCustomers && text !== '' && (
        // The audit counts each answer with names, so live updates must not request them again.
        <LiveContext.Provider value={null}>
          <Customers {...{ request, text }} />
        </LiveContext.Provider>
      )}
      <div class="table-tools">
        <p role="status" aria-live={count.isRefreshed ? 'off' : undefined}>
          {count.error ? '' : total === undefined || count.loading ? 'Counting …' : formatCountOf(total, 'voucher')}
          {params.of && ` purchased ${formatDays(view.from, view.to)}, in ${nameCurrency(currency)}`}
        </p>
        <VoucherDownload {...{ request, query, timeZone }} total={total ?? null} file={`vouchers-${tenant}`} />
      </div>
      <Failure answer={list} what={found ? 'Newer vouchers' : 'The vouchers'} />
      {!found ? (
        !list.error &&
        (list.loading ? (
          <Placeholder kind="table" />
        ) : (
          <Empty text="The vouchers could not be read. A message above the figures says why." />
        ))
      ) : found.nodes.length === 0 ? (
        <Empty text={nothingFound(isFiltered, found.pageInfo)} />
      ) : (
        <Vouchers
          {...{ timeZone }}
          vouchers={found.nodes}
          matches={new Map(found.edges?.map(match => [match.node.id, match]))}
          search={list.of?.filter?.text ?? ''}
          busy={list.loading}
          onSort={sort => setParams({ sort })}
        />
      )}
      {found && <Pager label="Pages of vouchers" pageInfo={found.pageInfo} onPage={setParams} />}
    </>
  )
}

/**
 * Returns the reason why a page has no vouchers. A page can be empty although more vouchers match, because the API
 * limits the number of records that it reads per page.
 */
function nothingFound(isFiltered: boolean, { hasNextPage, hasPreviousPage }: PageInfo): string {
  if (hasNextPage || hasPreviousPage) return 'No voucher of this page matches these filters. Other pages may have some.'
  return isFiltered ? 'No voucher matches these filters.' : 'There are no vouchers here yet.'
}

interface VouchersProps {
  /** The time zone of the days of purchase. */
  timeZone: string
  vouchers: readonly ListedVoucher[]
  /** For each id of a voucher, the fields in which the searched text occurs. */
  matches: ReadonlyMap<string, VoucherMatch>
  search: string
  /** True while another page is being loaded. */
  busy: boolean
  onSort: (sort: string) => void
}

function Vouchers({ timeZone, vouchers, matches, search, busy, onSort }: VouchersProps) {
  const { view } = useView()
  const { field, descending } = readOrder(view.params.sort)
  const marked = (id: string, field: PurchasedVoucherTextField, text: string) => (
    <Marked text={text} search={matches.get(id)?.matchedFields.includes(field) ? search : ''} />
  )
  const money = (heading: string, of: 'purchaseValue' | 'currentBalance' | 'initialBalance') => ({
    heading,
    numeric: true,
    cell: ({ [of]: amount, currency }: ListedVoucher) => (amount === null ? '–' : formatMoney(amount, currency)),
  })
  const columns: Column<ListedVoucher>[] = [
    {
      heading: 'Reference',
      cell: ({ id, reference }) => (
        <>
          <ViewLink change={{ voucher: id }} current={view.voucher === id}>
            {marked(id, 'REFERENCE', reference)}
          </ViewLink>
          <VoucherFields match={matches.get(id)} search={search} />
        </>
      ),
    },
    { heading: 'Status', cell: ({ status }) => <Status status={status} /> },
    {
      heading: view.withDescendants ? 'Product and tenant' : 'Product',
      cell: ({ id, productTitle, tenant }) => (
        <>
          {productTitle === null ? '–' : marked(id, 'PRODUCT_TITLE', productTitle)}
          {view.withDescendants && tenant && <span class="muted of-tenant">{tenant.name}</span>}
        </>
      ),
    },
    money('Paid', 'purchaseValue'),
    { ...money('Balance', 'currentBalance'), order: 'balance' },
    money('Of', 'initialBalance'),
    {
      heading: 'Purchased',
      order: 'purchased',
      latestFirst: true,
      cell: ({ purchaseTimestamp }) =>
        purchaseTimestamp === null ? '–' : formatDay(dayIn(timeZone, new Date(purchaseTimestamp))),
    },
    {
      heading: 'Valid until',
      order: 'valid-until',
      cell: ({ dateValidEnd }) => (dateValidEnd === null ? 'No end' : formatDay(dateValidEnd)),
    },
  ]
  return (
    <DataTable
      label="Vouchers"
      class="vouchers"
      {...{ columns, busy }}
      rows={vouchers}
      keyOf={({ id }) => id}
      sort={{ column: columns.findIndex(({ order }) => order === field), descending }}
      onSort={next => onSort(`${next.descending ? '-' : ''}${columns[next.column]?.order}`)}
    />
  )
}

const fieldNames: Readonly<Record<PurchasedVoucherTextField, string>> = {
  REFERENCE: 'reference',
  PRODUCT_TITLE: 'product',
  RECIPIENT_NAME: 'recipient',
}

/** Names the fields of a voucher in which the words of the search occur. */
const VoucherFields = ({ match, search }: { match: VoucherMatch | undefined; search: string }) => (
  <FoundIn
    fields={(match?.matchedFields ?? []).map(field => ({
      name: fieldNames[field],
      text: field === 'RECIPIENT_NAME' && <Marked text={match?.node.recipientName ?? ''} search={search} />,
    }))}
  />
)

/** Shows the status of a voucher as a badge with its label. */
export const Status = ({ status }: { status: ListedVoucher['status'] }) => (
  <span class={`badge ${badgeClassOf(status)}`}>{nameStatus(status)}</span>
)
