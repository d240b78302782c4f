/** The examples of figures in GraphiQL. */
export const figureQueries = [
  `# What was sold in each month, by currency, and
# in the whole period. withDescendants adds the
# tenants below this one.
query Sales($tenant: ID!, $start: Date!, $today: Date!) {
  tenant(id: $tenant) {
    figures(period: { from: $start, to: $today }, by: MONTH, withDescendants: true) {
      asOf
      timeZone
      periods {
        from
        to
        sales {
          currency
          vouchers
          paid
          value
          redeemed
          voided
          withoutBalance {
            vouchers
            paid
          }
        }
      }
      totals {
        currency
        vouchers
        paid
        redeemed
      }
    }
  }
}
`,
  `# What is still to be redeemed, and in which
# month it expires (null: never).
query Outstanding($tenant: ID!, $today: Date!) {
  tenant(id: $tenant) {
    figures(period: { from: $today, to: $today }, withDescendants: true) {
      asOf
      outstanding {
        currency
        vouchers
        balance
        withoutBalance {
          vouchers
          paid
        }
        byExpiry {
          month
          vouchers
          balance
        }
      }
    }
  }
}
`,
  `# What expires soon if it is not redeemed.
query Expiring($tenant: ID!, $today: Date!) {
  tenant(id: $tenant) {
    figures(period: { from: $today, to: $today }, withDescendants: true) {
      next30Days: expiring {
        currency
        vouchers
        balance
      }
      next90Days: expiring(withinDays: 90) {
        currency
        vouchers
        balance
      }
    }
  }
}
`,
  `# The share of vouchers that are redeemed,
# expired, void and so on, now.
query Status($tenant: ID!, $today: Date!) {
  tenant(id: $tenant) {
    figures(period: { from: $today, to: $today }, withDescendants: true) {
      status {
        status
        vouchers
        share
      }
    }
  }
}
`,
  `# The products that sold best, by what was paid in
# one currency and by number of vouchers.
query TopProducts($tenant: ID!, $start: Date!, $today: Date!, $currency: String!) {
  tenant(id: $tenant) {
    figures(period: { from: $start, to: $today }, withDescendants: true) {
      byPaid: topProducts(first: 5, by: PAID, currency: $currency) {
        title
        vouchers
        paid
        currency
      }
      byVouchers: topProducts(first: 5, by: VOUCHERS) {
        title
        vouchers
        product {
          fromPrice
          tenant {
            name
          }
        }
      }
    }
  }
}
`,
  `# Consents to marketing that were given and
# withdrawn, by week.
query Consents($tenant: ID!, $start: Date!, $today: Date!) {
  tenant(id: $tenant) {
    figures(period: { from: $start, to: $today }, by: WEEK, withDescendants: true) {
      consents {
        from
        to
        given
        withdrawn
      }
    }
  }
}
`,
]
