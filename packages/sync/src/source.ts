/** Reads the service through the client, and returns the parts of each record that a sync needs. */
import {
  type ListOptions,
  type Page,
  type RemovalOptions,
  type RemovalResource,
  type TenantListName,
  tenantLists,
  VoucherGateway,
} from '#client'
import type { ReportEvent } from './report.ts'
import { isGone } from './service-error.ts'
import type { StoredRecord } from './store.ts'

/** A page of a list, or a chunk of an export. */
export interface ListPage {
  records: StoredRecord[]
  /** The cursor that continues after this page; null at the end of the list. */
  cursor: string | null
  serverTime: string
}

/** The address and the token of the service, and the settings of its client. */
interface SourceOptions {
  url: string
  token: string
  /** Ends waits and requests. */
  stop: AbortSignal
  report: ReportEvent
  /** The maximum number of attempts of a request; default: the client's default. */
  maxAttempts?: number
  /** True when a plain `http://` address of another machine is allowed. */
  allowHttp: boolean
}

type Listed = ({ id: number } | { tenant_id: number }) & { updated_at?: string | null }

const toStored = (record: Listed): StoredRecord => ({
  id: 'id' in record ? record.id : record.tenant_id,
  updatedAt: record.updated_at ?? null,
  record,
})

async function* convertPages(pages: AsyncIterable<Page<Listed>>): AsyncGenerator<ListPage> {
  for await (const { records, nextCursor, serverTime } of pages) {
    yield { records: records.map(toStored), cursor: nextCursor, serverTime }
  }
}

/** Returns the reason, as a sentence, why the client waits before it repeats a request. */
function waitReason(code: string): string {
  if (code === 'RATE_LIMITED') return 'because the request rate is exceeded'
  return code === 'UNAVAILABLE' ? 'because the service cannot answer now' : 'because the connection failed'
}

/** Creates the object with which one round reads the service. */
export function createSource({ url, token, stop: signal, report, maxAttempts, allowHttp }: SourceOptions) {
  const client = new VoucherGateway({
    url,
    token,
    allowHttp,
    ...(maxAttempts !== undefined && { maxAttempts }),
    onWait: (error, ms) => report({ event: 'wait', seconds: Math.ceil(ms / 1000), reason: waitReason(error.code) }),
  })

  /** Yields the pages of the list of tenants. */
  const tenants = () => convertPages(client.tenants({ signal }).pages())

  return {
    url,
    tenants,

    /** Reads the first page of the list of tenants. */
    async firstTenants(): Promise<ListPage> {
      for await (const page of tenants()) return page
      throw new Error('The list of tenants has no page.')
    },

    /** Yields the pages of a list. */
    pages: (tenantId: number, list: TenantListName, from: ListOptions): AsyncIterable<ListPage> =>
      convertPages(client[tenantLists[list].list](tenantId, { ...from, signal }).pages()),

    /** Reads a list through a bulk export, from its beginning or after a cursor of an export. */
    exportList: (tenantId: number, list: TenantListName, cursor?: string): AsyncIterable<ListPage> =>
      convertPages(client[tenantLists[list].export](tenantId, { cursor, signal }).pages()),

    /** Reads the removals of a tenant since a bound; with a cursor, only the removals after the cursor. */
    removals: (tenantId: number, query: RemovalOptions) => client.removals(tenantId, { ...query, signal }).pages(),

    /** Reads which lists changed. */
    changes: (after: string) => client.changes({ after, signal }),

    /** Reads the webhooks of the token. */
    webhooks: () => client.webhooks({ signal }),

    /** Reads the id and the epoch of the service, which the service returns with each tenant. */
    readIdentity: (tenantId: number) => client.identity(tenantId, { signal }),

    /**
     * Returns whether the token has the permission for a resource, such as purchased vouchers, of a tenant that the
     * token may read.
     */
    async mayRead(tenantId: number, resource: RemovalResource): Promise<boolean> {
      try {
        await client
          .removals(tenantId, { signal, resources: [resource] })
          .pages()
          .next()
        return true
      } catch (error) {
        if (isGone(error)) return false
        throw error
      }
    },

    /** Counts the records of a list. */
    count: (tenantId: number, list: TenantListName): Promise<number> => client.count(tenantId, list, { signal }),
  }
}

/** The functions with which a round reads the service. */
export type Source = ReturnType<typeof createSource>
