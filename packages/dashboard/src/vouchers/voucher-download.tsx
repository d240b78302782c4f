// Downloads the vouchers that match the filters as a CSV file.
import type { SendOperation } from '../api.ts'
import { type CsvCell, toCsv } from '../csv.ts'
import { nameStatus } from '../figures/status-words.ts'
import type { Count } from '../format.ts'
import { DashboardVouchers, type DashboardVouchersQueryVariables } from '../operations.ts'
import { dayIn } from '../period.ts'
import { ListDownload } from '../tables/list-download.tsx'
import type { ListedVoucher } from './voucher.ts'

/** The maximum number of vouchers in one file. Reading them uses the default rate limit of about one minute. */
const maxVouchers = 10_000
const pageSize = 100

interface VoucherDownloadProps {
  request: SendOperation
  query: Pick<DashboardVouchersQueryVariables, 'tenant' | 'withDescendants' | 'filter' | 'orderBy'>
  /** The time zone of the days of purchase. */
  timeZone: string
  /** The number of vouchers; null while the vouchers are being counted. */
  total: Count | null
  /** The name of the file, without its extension. */
  file: string
}

/** A button that downloads the vouchers. */
export const VoucherDownload = ({ request, query, timeZone, total, file }: VoucherDownloadProps) => (
  <ListDownload
    {...{ total, most: maxVouchers, file }}
    noun="voucher"
    whenCut="Narrow the filters for the others, or use the bulk export."
    readPage={async (after, signal) => {
      const { data } = await request(DashboardVouchers, { ...query, first: pageSize, after }, signal)
      return data.tenant?.purchasedVouchers
    }}
    toCsv={(vouchers: readonly ListedVoucher[]) => {
      const columns = columnsIn(timeZone)
      return toCsv(
        columns.map(([heading]) => heading),
        vouchers.map(voucher => columns.map(([, cell]) => cell(voucher))),
      )
    }}
  />
)

/** The columns of the file. @param timeZone the time zone of the days of purchase */
const columnsIn = (
  timeZone: string,
): readonly (readonly [heading: string, cell: (voucher: ListedVoucher) => CsvCell])[] => [
  ['Id', voucher => voucher.databaseId],
  ['Reference', voucher => voucher.reference],
  ['Status', voucher => nameStatus(voucher.status)],
  ['Product', voucher => voucher.productTitle],
  ['Currency', voucher => voucher.currency],
  ['Paid', voucher => voucher.purchaseValue],
  ['Initial balance', voucher => voucher.initialBalance],
  ['Balance', voucher => voucher.currentBalance],
  ['Order id', voucher => voucher.orderId],
  ['Order item id', voucher => voucher.orderItemId],
  ['Day of purchase', ({ purchaseTimestamp: at }) => at && dayIn(timeZone, new Date(at))],
  ['Time zone of that day', () => timeZone],
  ['Purchased (UTC)', voucher => voucher.purchaseTimestamp],
  ['Valid from', voucher => voucher.dateValidStart],
  ['Valid until', voucher => voucher.dateValidEnd],
  ['Tenant id', ({ tenant }) => tenant?.databaseId ?? null],
  ['Tenant', ({ tenant }) => tenant?.name ?? null],
]
