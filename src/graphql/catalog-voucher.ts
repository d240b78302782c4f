import { type Category as CategoryRow, categoryColumns, listCategoriesOf } from '../domain/record/category.ts'
import { products } from '../domain/record/product.ts'
import { listVariantsOf, lowestAmount, type Variant as VariantRow, variantColumns } from '../domain/record/variant.ts'
import { builder } from './builder.ts'
import { createChildResolver, defineChildLoader } from './children.ts'
import { exposeColumns } from './columns.ts'
import { encodeGlobalId } from './global-id.ts'
import { addResource } from './resource.ts'

const Category = builder.objectRef<CategoryRow>('Category').implement({
  description: 'A category of products.',
  fields: t => ({
    id: t.id({ description: 'The global id.', resolve: category => encodeGlobalId('Category', category.id) }),
    ...exposeColumns(t, categoryColumns),
  }),
})

const Variant = builder.objectRef<VariantRow>('Variant').implement({
  description: 'A variant of a product, with its own price.',
  fields: t => ({
    id: t.id({ description: 'The global id.', resolve: variant => encodeGlobalId('Variant', variant.id) }),
    ...exposeColumns(t, variantColumns),
  }),
})

const categoryLoader = defineChildLoader(listCategoriesOf)
const variantLoader = defineChildLoader(listVariantsOf)

export const CatalogVoucher = addResource(products).record

builder.objectFields(CatalogVoucher, t => ({
  fromPrice: t.field({
    type: 'Money',
    nullable: true,
    description: 'The lowest price of its variants.',
    ...createChildResolver(variantLoader, variants => lowestAmount(variants, 'price')),
  }),
  fromSalePrice: t.field({
    type: 'Money',
    nullable: true,
    description: 'The lowest sale price of its variants.',
    ...createChildResolver(variantLoader, variants => lowestAmount(variants, 'salePrice')),
  }),
  categories: t.field({
    type: [Category],
    description: 'Its categories, by `sortOrder`, then `id`.',
    complexity: { field: 1, multiplier: 3 },
    ...createChildResolver(categoryLoader, categories => categories),
  }),
  variants: t.field({
    type: [Variant],
    description: 'Its variants, by `sortOrder`, then `id`.',
    complexity: { field: 1, multiplier: 3 },
    ...createChildResolver(variantLoader, variants => variants),
  }),
}))
