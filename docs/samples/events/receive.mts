import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import {
  type ListChangedEvent,
  tenantLists,
  VoucherGateway,
  VoucherGatewayError,
  verifyWebhook,
} from '@voucher-gateway/client'

const { VOUCHER_GATEWAY_URL = '', VOUCHER_GATEWAY_TOKEN = '', WEBHOOK_SECRET = '', PORT = '8091' } = process.env
const client = new VoucherGateway({ url: VOUCHER_GATEWAY_URL, token: VOUCHER_GATEWAY_TOKEN })

/** The bound and the last event of each list, by the address of the list. */
const positions: Record<string, { bound: string; event: ListChangedEvent }> = existsSync('positions.json')
  ? JSON.parse(readFileSync('positions.json', 'utf8'))
  : {}

const addressOf = ({ url }: ListChangedEvent) => url.replace(/\?.*/, '')

/** Reads a list since its bound. Read its removals before, as the guide "Keeping a copy in step" shows. */
async function read(event: ListChangedEvent, updatedSince?: string) {
  const name = Object.values(tenantLists).find(list => list.event === event.type)?.list
  const list = name ? client[name](event.tenant_id, { updatedSince }) : client.tenants({ updatedSince })
  for await (const record of list) console.log(addressOf(event), 'id' in record ? record.id : record.tenant_id)
  positions[addressOf(event)] = { bound: list.serverTime ?? event.server_time, event }
  writeFileSync('positions.json.new', JSON.stringify(positions))
  renameSync('positions.json.new', 'positions.json')
}

async function take(event: ListChangedEvent) {
  const bound = positions[addressOf(event)]?.bound
  if (event.updated_since === null) return read(event)
  // A repeated event, or an event whose changes were already read.
  if (bound !== undefined && bound >= event.server_time) return
  await read(event, bound)
}

// Reads one list after the other, and repeats a step that fails. First reads the lists that an earlier process left
// unread.
let work = Promise.resolve()
function start(step: () => Promise<void>) {
  work = work.then(step).catch(error => {
    console.error(error)
    setTimeout(start, 60_000, step)
  })
}
for (const { bound, event } of Object.values(positions)) start(() => read(event, bound))

createServer(async (request, response) => {
  try {
    const event = await verifyWebhook(await buffer(request), request.headers, WEBHOOK_SECRET.split(' '))
    if (event.type !== 'test') start(() => take(event))
    response.writeHead(204).end()
  } catch (error) {
    // A later version of the service can have events of more lists.
    const isUnknown = error instanceof VoucherGatewayError && error.code === 'UNKNOWN_EVENT'
    response.writeHead(isUnknown ? 204 : 400).end()
  }
}).listen(Number(PORT), '127.0.0.1')
