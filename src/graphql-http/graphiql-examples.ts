import { millisecondsPerDay } from '../domain/record/date.ts'
import { figureQueries } from './graphiql-figure-examples.ts'
import { filterQueries } from './graphiql-filter-examples.ts'

/** The first examples, in the order of their tabs. */
const queries = [
  `# Who you are, and what is left of your rate.
# All tabs use the token that you are signed in with.
# Each answer says in extensions.cost what it
# counted as.
query WhoAmI {
  viewer {
    name
    permissions
    tenants {
      tenant {
        name
        databaseId
      }
      withDescendants
    }
    rate {
      limit
      remaining
      resetsIn
    }
  }
}
`,
  `# Voucher products of a tenant, each with its
# categories and variants.
query Catalog($tenant: ID!, $after: String) {
  tenant(id: $tenant) {
    name
    catalogVouchers(first: 10, after: $after) {
      totalCount
      nodes {
        title
        fromPrice
        currency
        categories {
          title
        }
        variants {
          title
          price
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
`,
  `# Vouchers that changed since an instant: pass
# serverTime on as updatedSince the next time.
query ChangedVouchers($tenant: ID!, $since: DateTime) {
  tenant(id: $tenant) {
    purchasedVouchers(first: 50, updatedSince: $since) {
      serverTime
      nextCursor
      nodes {
        reference
        currentBalance
        currency
        redemptionStatus
        void
        updatedAt
      }
    }
  }
}
`,
  `# What a voucher is worth at a tenant now.
# Nothing is redeemed. The variables below name
# the tenant and the voucher.
mutation Resolve($tenant: ID!, $reference: String!) {
  resolveVoucher(input: { tenantId: $tenant, voucherReference: $reference }) {
    status
    reasonCode
    voucher {
      productTitle
      currentBalance
      currency
    }
    redemptionToken
  }
}
`,
  `# A tenant, the one above it and those directly
# below it, as far as your token reaches.
query TenantTree($tenant: ID!) {
  tenant(id: $tenant) {
    name
    parent {
      name
    }
    children(first: 10) {
      nodes {
        databaseId
        name
        type
      }
    }
  }
}
`,
]

const day = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** A voucher that exists where the examples are run. */
export interface ExampleVoucher {
  tenantId: number
  voucherReference: string
}

/** The values of the variables; of others: null. @param now milliseconds since 1970 */
const valuesAt = (now: number, voucher: ExampleVoucher | null): Record<string, unknown> => ({
  tenant: String(voucher?.tenantId ?? 1),
  reference: voucher?.voucherReference ?? 'the reference of a voucher',
  currency: 'GBP',
  since: `${day(now - 30 * millisecondsPerDay)}T00:00:00Z`,
  today: day(now),
  /** A year of whole months, with this one. */
  start: `${day(now - 334 * millisecondsPerDay).slice(0, 8)}01`,
  from: day(now),
  to: day(now + 60 * millisecondsPerDay),
  text: 'tea',
  title: 'champagne',
  yearAgo: `${day(now - 365 * millisecondsPerDay)}T00:00:00Z`,
})

/**
 * Returns the tabs that GraphiQL opens when it is started for the first time.
 *
 * @param voucher the voucher that is resolved; null: the variables have a placeholder
 */
export function createExampleTabs(voucher: ExampleVoucher | null, now = Date.now()) {
  const values = valuesAt(now, voucher)
  return [...queries, ...filterQueries, ...figureQueries].map(query => {
    const names = [...query.matchAll(/\$(\w+):/g)].map(([, name = '']) => name)
    const variables = Object.fromEntries(names.map(name => [name, values[name] ?? null]))
    return { query, variables: JSON.stringify(variables, null, 2) }
  })
}
