/**
 * The records of v1 as L0, L1 and mercurius serve them, by the names of the service's schema. Answers are compared on
 * these fields. Add a new field of v1 here, and to the contenders, to compare it.
 */
export const contenderTypes = /* GraphQL */ `
  type PurchasedVoucher {
    databaseId: BigInt!
    reference: String!
    initialBalance: Money
    currentBalance: Money
    purchaseValue: Money
    currency: String
    isMonetary: Boolean!
    allowPartRedeem: Boolean!
    void: Boolean!
    orderId: BigInt
    orderItemId: BigInt
    productId: BigInt
    productTitle: String
    productSlug: String
    parentProductId: BigInt
    parentProductTitle: String
    purchaseTimestamp: DateTime
    dateIssued: DateTime
    dateValidStart: Date
    dateValidEnd: Date
    dateScheduled: DateTime
    redemptionStatus: String
    voidReason: String
    voidDate: DateTime
    createdAt: DateTime!
    updatedAt: DateTime!
  }

  type CatalogVoucher {
    databaseId: BigInt!
    slug: String!
    title: String!
    summary: String
    descriptionHtml: String
    currency: String!
    price: Money
    salePrice: Money
    fromPrice: Money
    fromSalePrice: Money
    monetaryValue: Money
    isMonetary: Boolean!
    allowPartRedeem: Boolean!
    validityType: String
    validityMonths: Int
    redemptionInfo: String
    sortOrder: Int!
    imageUrl: String
    imageUrls: [String!]!
    categories: [Category!]!
    variants: [Variant!]!
    updatedAt: DateTime
  }

  type Category {
    databaseId: BigInt!
    slug: String!
    title: String!
    sortOrder: Int!
  }

  type Variant {
    databaseId: BigInt!
    slug: String!
    title: String!
    price: Money
    salePrice: Money
    currency: String!
    isMonetary: Boolean!
    sortOrder: Int!
    updatedAt: DateTime
  }

  type Resolution {
    status: String!
    reasonCode: String
    voucher: ResolvedVoucher
    tenant: ResolutionTenant
    redemptionToken: String
  }

  type ResolvedVoucher {
    databaseId: BigInt!
    reference: String!
    currentBalance: Money
    initialBalance: Money
    currency: String
    isMonetary: Boolean!
    allowPartRedeem: Boolean!
    status: String!
    reasonCode: String
    productTitle: String
    recipientName: String
    customerName: String
    redemptionStatus: String
    void: Boolean!
    dateValidStart: Date
    dateValidEnd: Date
  }

  type ResolutionTenant {
    databaseId: BigInt!
    name: String!
    type: String
    sourceTenantId: BigInt!
    sourceTenantName: String!
    sourceTenantType: String
  }
`
