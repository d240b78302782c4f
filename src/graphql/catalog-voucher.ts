import { type Category as CategoryRow, listCategoriesOf } from '../domain/category.ts'
import { type Product, products } from '../domain/product.ts'
import { listVariantsOf, lowest, type Variant as VariantRow } from '../domain/variant.ts'
import { builder } from './builder.ts'
import { BatchChildren, childField } from './children.ts'
import type { Reader } from './loaders.ts'
import { encodeGlobalId } from './record-id.ts'
import { addResource } from './resource.ts'

const Category = builder.objectRef<CategoryRow>('Category').implement({
  description: 'What a product is filed under.',
  fields: t => ({
    id: t.id({ description: 'The global id.', resolve: category => encodeGlobalId('Category', category.id) }),
    databaseId: t.expose('id', { type: 'BigInt', description: 'The numeric id, as in v1.' }),
    slug: t.exposeString('slug', { description: 'Its name in addresses.' }),
    title: t.exposeString('title', { description: 'What it is called.' }),
    sortOrder: t.exposeInt('sortOrder', { description: 'Where it stands among its like, lowest first.' }),
  }),
})

const Variant = builder.objectRef<VariantRow>('Variant').implement({
  description: 'A form in which a product is sold.',
  fields: t => ({
    id: t.id({ description: 'The global id.', resolve: variant => encodeGlobalId('Variant', variant.id) }),
    databaseId: t.expose('id', { type: 'BigInt', description: 'The numeric id, as in v1.' }),
    slug: t.exposeString('slug', { description: 'Its name in addresses.' }),
    title: t.exposeString('title', { description: 'What it is called.' }),
    price: t.expose('price', { type: 'Money', nullable: true, description: 'What it costs.' }),
    salePrice: t.expose('salePrice', { type: 'Money', nullable: true, description: 'What it costs while on sale.' }),
    currency: t.exposeString('currency', { description: 'The ISO 4217 code of its amounts.' }),
    isMonetary: t.exposeBoolean('isMonetary', { description: 'Whether it is worth an amount of money.' }),
    sortOrder: t.exposeInt('sortOrder', { description: 'Where it stands among its like, lowest first.' }),
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
  slug: t.exposeString('slug', { description: 'Its name in addresses.' }),
  title: t.exposeString('title', { description: 'What it is called.' }),
  summary: t.exposeString('summary', { nullable: true, description: 'A few words about it.' }),
  descriptionHtml: t.exposeString('descriptionHtml', {
    nullable: true,
    description: 'All about it, as HTML from the platform: clean it before showing it.',
  }),
  currency: t.exposeString('currency', { description: 'The ISO 4217 code of its amounts.' }),
  price: t.expose('price', { type: 'Money', nullable: true, description: 'What it costs.' }),
  salePrice: t.expose('salePrice', { type: 'Money', nullable: true, description: 'What it costs while on sale.' }),
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
    description: 'The amount a voucher of it is worth.',
  }),
  isMonetary: t.exposeBoolean('isMonetary', { description: 'Whether it is worth an amount of money.' }),
  allowPartRedeem: t.exposeBoolean('allowPartRedeem', {
    description: 'Whether its vouchers can be redeemed in parts.',
  }),
  validityType: t.exposeString('validityType', { nullable: true, description: 'How its validity is reckoned.' }),
  validityMonths: t.exposeInt('validityMonths', { nullable: true, description: 'For how many months it is valid.' }),
  redemptionInfo: t.exposeString('redemptionInfo', { nullable: true, description: 'How it is redeemed.' }),
  sortOrder: t.exposeInt('sortOrder', { description: 'Where it stands among its like, lowest first.' }),
  imageUrl: t.exposeString('imageUrl', { nullable: true, description: 'The address of its main picture.' }),
  imageUrls: t.exposeStringList('imageUrls', { description: 'The addresses of all its pictures.' }),
  categories: t.field({
    type: [Category],
    description: 'What it is filed under, by `sortOrder`, then id.',
    complexity: { field: 1, multiplier: 3 },
    ...childField(
      ({ loaders }) => loaders.get(categoriesOf),
      categories => categories,
    ),
  }),
  variants: t.field({
    type: [Variant],
    description: 'The forms in which it is sold, by `sortOrder`, then id.',
    complexity: { field: 1, multiplier: 3 },
    ...childField(
      ({ loaders }) => loaders.get(variantsOf),
      variants => variants,
    ),
  }),
  updatedAt: t.expose('updatedAt', {
    type: 'DateTime',
    nullable: true,
    description: 'When it, a category or a variant of it was last changed.',
  }),
}))
