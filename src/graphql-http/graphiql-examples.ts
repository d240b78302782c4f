const queries = [
  `# Who you are, and what is left of your rate.
# Type your token above, once: all tabs use it.
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
  `# Voucher products of a tenant, each with its categories and variants.
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
  `# Vouchers that changed since an instant: pass serverTime on as updatedSince the next time.
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
  `# What a voucher is worth at a tenant now. Nothing is redeemed.
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
]

function variablesOf(query: string): string {
  const variables: Record<string, unknown> = {}
  if (query.includes('$tenant')) variables.tenant = '1'
  if (query.includes('$since')) variables.since = '2026-01-01T00:00:00Z'
  if (query.includes('$reference')) variables.reference = ''
  return JSON.stringify(variables, null, 2)
}

/** The tabs that GraphiQL opens when it is started for the first time. */
export const exampleTabs = queries.map(query => ({ query, variables: variablesOf(query) }))
