/** The examples of filters and orders in GraphiQL. */
export const filterQueries = [
  `# Vouchers that can be redeemed now, of this
# tenant and those below it, the highest balance
# first.
query RedeemableVouchers($tenant: ID!, $currency: String!, $after: String) {
  tenant(id: $tenant) {
    purchasedVouchers(
      first: 20
      after: $after
      withDescendants: true
      filter: { status: [REDEEMABLE, PART_REDEEMED], currency: $currency, balance: { from: 50 } }
      orderBy: { field: BALANCE, direction: DESC }
    ) {
      count {
        count
        precision
      }
      nodes {
        reference
        status
        currentBalance
        dateValidEnd
        tenant {
          name
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
  `# Vouchers that are valid today and end within
# the range, the first to end first.
query ExpiringVouchers($tenant: ID!, $from: Date!, $to: Date!) {
  tenant(id: $tenant) {
    purchasedVouchers(
      first: 20
      withDescendants: true
      filter: { validOn: { from: $from, to: $from }, validUntil: { from: $from, to: $to } }
      orderBy: { field: VALID_UNTIL }
    ) {
      count {
        count
        precision
      }
      nodes {
        reference
        status
        currentBalance
        currency
        dateValidEnd
      }
    }
  }
}
`,
  `# Vouchers by a text in the reference or the
# product, or in the recipient's name with
# redeem_vouchers; of one product, when you name
# it.
query SearchVouchers($tenant: ID!, $text: String, $product: ID, $yearAgo: DateTime, $before: DateTime) {
  tenant(id: $tenant) {
    purchasedVouchers(
      first: 20
      filter: { text: $text, productId: $product, purchased: { from: $yearAgo, before: $before } }
      orderBy: { field: PURCHASED_AT, direction: DESC }
    ) {
      count {
        count
        precision
      }
      nodes {
        reference
        productTitle
        status
        purchaseTimestamp
        product {
          title
          fromPrice
        }
      }
    }
  }
}
`,
  `# Products by price, text and category;
# category: the id of one, or null.
query SearchProducts($tenant: ID!, $currency: String!, $title: String, $category: ID) {
  tenant(id: $tenant) {
    catalogVouchers(
      first: 20
      withDescendants: true
      filter: { currency: $currency, price: { from: 10, to: 200 }, text: $title, categoryId: $category, isMonetary: null }
      orderBy: { field: PRICE }
    ) {
      count {
        count
        precision
      }
      nodes {
        title
        price
        isMonetary
        categories {
          id
          title
        }
      }
    }
  }
}
`,
  `# Customers who opted in to marketing within a
# range, the latest first; source and name: null
# for all.
query SearchSignups($tenant: ID!, $yearAgo: DateTime, $source: String, $name: String) {
  tenant(id: $tenant) {
    marketingSignups(
      first: 20
      withDescendants: true
      filter: { consented: { from: $yearAgo }, source: $source, text: $name }
      orderBy: { field: CONSENTED_AT, direction: DESC }
    ) {
      count {
        count
        precision
      }
      nodes {
        fullName
        email
        consentedAt
        consentSource
      }
    }
  }
}
`,
]
