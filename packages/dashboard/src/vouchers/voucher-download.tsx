// The vouchers that the filters leave as a CSV file.
import type { SendOperation } from '../api.ts'
import { toCsv } from '../csv.ts'
import { nameStatus } from '../figures/status-words.ts'
import type { Count } from '../format.ts'
import { DashboardVouchers, type DashboardVouchersQueryVariables } from '../operations.ts'
import { ListDownload } from '../tables/list-download.tsx'
import type { ListedVoucher } from './voucher.ts'

/** The most vouchers of one file: about a minute of the usual rate. */
const most = 10_000
const pageSize = 100

interface VoucherDownloadProps {
  request: SendOperation
  query: Pick<DashboardVouchersQueryVariables, 'tenant' | 'withDescendants' | 'filter' | 'orderBy'>
  /** The number of vouchers; null while they are counted. */
  total: Count | null
  /** The name of the file, without its extension. */
  file: string
}

/** A button that downloads the vouchers. */
export const VoucherDownload = ({ request, query, total, file }: VoucherDownloadProps) => (
  <ListDownload
    {...{ total, most, file }}
    noun="voucher"
    whenCut="Narrow the filters for the others, or use the bulk export."
    readPage={async (after, signal) => {
      const { data } = await request(DashboardVouchers, { ...query, first: pageSize, after }, signal)
      return data.tenant?.purchasedVouchers
    }}
    toCsv={(vouchers: readonly ListedVoucher[]) => toCsv(headings, vouchers.map(toCells))}
  />
)

const headings = [
  ...['Id', 'Reference', 'Status', 'Product', 'Currency', 'Initial balance', 'Balance'],
  ...['Purchased (UTC)', 'Valid from', 'Valid until', 'Tenant id', 'Tenant'],
]

const toCells = (voucher: ListedVoucher) => [
  voucher.databaseId,
  voucher.reference,
  nameStatus(voucher.status),
  voucher.productTitle,
  voucher.currency,
  voucher.initialBalance,
  voucher.currentBalance,
  voucher.purchaseTimestamp,
  voucher.dateValidStart,
  voucher.dateValidEnd,
  voucher.tenant?.databaseId ?? null,
  voucher.tenant?.name ?? null,
]
