// Shows one voucher in a dialog. Closing the dialog, or going back in the browser, returns to the previous scroll
// position.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { SendOperation } from '../api.ts'
import { formatDay, formatInstant, formatMoney } from '../format.ts'
import { DashboardVoucher, type DashboardVoucherQuery } from '../operations.ts'
import { Empty, Failure, Placeholder } from '../placeholders.tsx'
import { ShareBar } from '../plots/share-list.tsx'
import { useAnswer } from '../use-answer.ts'
import { useView } from '../use-view.ts'
import { ViewLink } from '../view-link.tsx'
import { describeStatus } from './describe-status.ts'
import type { ShownVoucher } from './voucher.ts'
import { Status } from './voucher-list.tsx'
import { VouchersLink } from './vouchers-link.tsx'

/** Shows the voucher of the view in a dialog. */
export function VoucherPage({ request }: { request: SendOperation }) {
  const { view, go } = useView()
  const dialog = useRef<HTMLDialogElement>(null)
  const answer = useAnswer(request, DashboardVoucher, view.voucher === null ? null : { id: view.voucher })
  useEffect(() => {
    const opener = document.activeElement
    const { current } = dialog
    current?.showModal()
    return () => {
      current?.close()
      // Returns the focus to the opener, because the browser does not do this when a dialog is removed from the page.
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  const close = () => go({ voucher: null })
  const node = answer.isCurrent ? answer.data?.node : undefined
  const voucher = node && isVoucher(node) ? node : undefined
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: with the keyboard, Escape closes it
    <dialog
      ref={dialog}
      class="sheet"
      aria-labelledby="voucher-title"
      onCancel={event => {
        event.preventDefault()
        close()
      }}
      onClick={event => event.target === dialog.current && close()}
    >
      <div class="sheet-content">
        <header>
          <h2 id="voucher-title">{voucher ? `Voucher ${voucher.reference}` : 'Voucher'}</h2>
          <button type="button" class="secondary small" onClick={close}>
            Close
          </button>
        </header>
        {answer.error ? (
          <Failure answer={answer} what="The voucher" />
        ) : voucher ? (
          <Voucher {...{ voucher }} />
        ) : answer.loading ? (
          <Placeholder kind="table" />
        ) : (
          <Empty text="This voucher does not exist, or the token may not see it." />
        )}
      </div>
    </dialog>
  )
}

/** With the id of another kind of record, the answer is an object without fields. */
const isVoucher = (node: NonNullable<DashboardVoucherQuery['node']>): node is ShownVoucher => 'reference' in node

function Voucher({ voucher }: { voucher: ShownVoucher }) {
  const { tenant, product, currency, initialBalance, currentBalance } = voucher
  const zone = tenant?.timeZone ?? 'UTC'
  const money = (amount: number | null) => amount !== null && formatMoney(amount, currency)
  const instant = (at: string | null) => at !== null && formatInstant(at, zone)
  const day = (date: string | null) => date !== null && formatDay(date)
  const productId = product?.databaseId ?? voucher.parentProductId ?? voucher.productId
  const title = voucher.parentProductTitle
    ? `${voucher.parentProductTitle}: ${voucher.productTitle ?? ''}`
    : (voucher.productTitle ?? product?.title)
  const facts: [string, ComponentChildren][] = [
    ['Balance', money(currentBalance)],
    ['Balance when purchased', money(initialBalance)],
    ['Price paid', money(voucher.purchaseValue)],
    ['Currency', !currency && 'None'],
    [
      'Product',
      productId !== null ? (
        <VouchersLink filters={{ product: String(productId) }}>{title ?? `Product ${productId}`}</VouchersLink>
      ) : (
        title
      ),
    ],
    [
      'Tenant',
      tenant && <ViewLink change={{ tenant: String(tenant.databaseId), voucher: null }}>{tenant.name}</ViewLink>,
    ],
    ['Valid from', day(voucher.dateValidStart)],
    ['Valid until', day(voucher.dateValidEnd) || 'No end'],
    ['Purchased', instant(voucher.purchaseTimestamp)],
    ['Scheduled for', instant(voucher.dateScheduled)],
    ['Issued', instant(voucher.dateIssued)],
    ['Voided', voucher.void && (instant(voucher.voidDate) || 'On an unknown day')],
    ['Reason', voucher.void && voucher.voidReason],
    ['Redemption', voucher.redemptionStatus],
    ['Redeemed in parts', voucher.isMonetary && (voucher.allowPartRedeem ? 'Allowed' : 'Not allowed')],
    ['Order', voucher.orderId],
    ['Id', voucher.databaseId],
    ['Last changed', instant(voucher.updatedAt)],
  ]
  return (
    <>
      <p class="voucher-status">
        <Status status={voucher.status} /> {describeStatus(voucher)}
      </p>
      {initialBalance && currentBalance !== null ? (
        <ShareBar length={Math.min(1, Math.max(0, currentBalance / initialBalance))} />
      ) : null}
      <dl class="facts">
        {facts.map(
          ([name, fact]) =>
            fact && (
              <>
                <dt>{name}</dt>
                <dd>{fact}</dd>
              </>
            ),
        )}
      </dl>
      <p class="hint">Times are in the time zone {zone}.</p>
    </>
  )
}
