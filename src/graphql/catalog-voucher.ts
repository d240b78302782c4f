import { type Category as CategoryRow, listCategoriesOf } from '../domain/category.ts'
import { type Product, products } from '../domain/product.ts'
import { listVariantsOf, lowest, type Variant as VariantRow } from '../domain/variant.ts'
import { builder } from './builder.ts'
import { BatchChildren, childField } from './children.ts'
import type { Reader } from './loaders.ts'
import { encodeGlobalId } from './record-id.ts'
import { addResource } from './resource.ts'

const Category = builder.objectRef<CategoryRow>('Category').implement({
  description: 'A category of products.',
  fields: t => ({
    id: t.id({ description: 'The global id.', resolve: category => encodeGlobalId('Category', category.id) }),
    databaseId: t.expose('id', { type: 'BigInt', description: 'The numeric id, as in v1.' }),
    slug: t.exposeString('slug', { description: 'Its name in URLs.' }),
    title: t.exposeString('title', { description: 'The title.' }),
    sortOrder: t.exposeInt('sortOrder', { description: 'Its place among its siblings, lowest first.' }),
  }),
})

const Variant = builder.objectRef<VariantRow>('Variant').implement({
  description: 'A variant of a product, with its own price.',
  fields: t => ({
    id: t.id({ description: 'The global id.', resolve: variant => encodeGlobalId('Variant', variant.id) }),
    databaseId: t.expose('id', { type: 'BigInt', description: 'The numeric id, as in v1.' }),
    slug: t.exposeString('slug', { description: 'Its name in URLs.' }),
    title: t.exposeString('title', { description: 'The title.' }),
    price: t.expose('price', { type: 'Money', nullable: true, description: 'The price.' }),
    salePrice: t.expose('salePrice', { type: 'Money', nullable: true, description: 'The price while it is on sale.' }),
    currency: t.exposeString('currency', { description: 'The ISO 4217 code of its amounts.' }),
    isMonetary: t.exposeBoolean('isMonetary', { description: 'Whether its value is an amount of money.' }),
    sortOrder: t.exposeInt('sortOrder', { description: 'Its place among its siblings, lowest first.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', nullable: true, description: 'When it was last changed.' }),
  }),
})

const categoriesOf = ({ sql }: Reader) =>
  new BatchChildren<Product, CategoryRow>(parents => listCategoriesOf(sql, parents))

const variantsOf = ({ sql }: Reader) =>
  new BatchChildren<Product, VariantRow>(parents =>
    listVariantsOf(
      sql,
      parents.map(({ id }) => id),
    ),
  )

const CatalogVoucher = addResource(products, 'A product that is sold as a voucher.')

builder.objectFields(CatalogVoucher, t => ({
  slug: t.exposeString('slug', { description: 'Its name in URLs.' }),
  title: t.exposeString('title', { description: 'The title.' }),
  summary: t.exposeString('summary', { nullable: true, description: 'A short description.' }),
  descriptionHtml: t.exposeString('descriptionHtml', {
    nullable: true,
    description: 'The full description, as HTML from the platform. Sanitize it before you show it.',
  }),
  currency: t.exposeString('currency', { description: 'The ISO 4217 code of its amounts.' }),
  price: t.expose('price', { type: 'Money', nullable: true, description: 'The price.' }),
  salePrice: t.expose('salePrice', { type: 'Money', nullable: true, description: 'The price while it is on sale.' }),
  fromPrice: t.field({
    type: 'Money',
    nullable: true,
    description: 'The lowest price of its variants.',
    ...childField(
      ({ loaders }) => loaders.get(variantsOf),
      variants => lowest(variants, 'price'),
    ),
  }),
  fromSalePrice: t.field({
    type: 'Money',
    nullable: true,
    description: 'The lowest sale price of its variants.',
    ...childField(
      ({ loaders }) => loaders.get(variantsOf),
      variants => lowest(variants, 'salePrice'),
    ),
  }),
  monetaryValue: t.expose('monetaryValue', {
    type: 'Money',
    nullable: true,
    description: 'The monetary value of one of its vouchers.',
  }),
  isMonetary: t.exposeBoolean('isMonetary', { description: 'Whether its value is an amount of money.' }),
  allowPartRedeem: t.exposeBoolean('allowPartRedeem', {
    description: 'Whether its vouchers can be redeemed in parts.',
  }),
  validityType: t.exposeString('validityType', { nullable: true, description: 'How its validity is calculated.' }),
  validityMonths: t.exposeInt('validityMonths', {
    nullable: true,
    description: 'The number of months for which it is valid.',
  }),
  redemptionInfo: t.exposeString('redemptionInfo', { nullable: true, description: 'How to redeem it.' }),
  sortOrder: t.exposeInt('sortOrder', { description: 'Its place among its siblings, lowest first.' }),
  imageUrl: t.exposeString('imageUrl', { nullable: true, description: 'The URL of its main image.' }),
  imageUrls: t.exposeStringList('imageUrls', { description: 'The URLs of all its images.' }),
  categories: t.field({
    type: [Category],
    description: 'Its categories, by `sortOrder`, then `id`.',
    complexity: { field: 1, multiplier: 3 },
    ...childField(
      ({ loaders }) => loaders.get(categoriesOf),
      categories => categories,
    ),
  }),
  variants: t.field({
    type: [Variant],
    description: 'Its variants, by `sortOrder`, then `id`.',
    complexity: { field: 1, multiplier: 3 },
    ...childField(
      ({ loaders }) => loaders.get(variantsOf),
      variants => variants,
    ),
  }),
  updatedAt: t.expose('updatedAt', {
    type: 'DateTime',
    nullable: true,
    description: 'When the product, one of its categories or one of its variants was last changed.',
  }),
}))
