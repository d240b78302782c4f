import type { ProductFigure as Row } from '../../domain/figures/figure.ts'
import { products } from '../../domain/record/product.ts'
import { builder } from '../builder.ts'
import { CatalogVoucher } from '../catalog-voucher.ts'
import { findAuthorisedProduct } from '../purchased-voucher.ts'

export const ProductFigure = builder.objectRef<Row>('ProductFigure').implement({
  description: 'The sales of a product in one currency. Vouchers of a variant count for its product.',
  fields: t => ({
    productId: t.expose('productId', { type: 'BigInt', description: 'The numeric id of the product.' }),
    title: t.exposeString('title', {
      nullable: true,
      description: 'The title of the product. When the product was deleted: the title on one of its vouchers.',
    }),
    currency: t.exposeString('currency', {
      nullable: true,
      description: 'The ISO 4217 code of the amounts; null for vouchers without a currency.',
    }),
    vouchers: t.exposeInt('vouchers', { description: 'The number of vouchers sold, without void ones.' }),
    paid: t.expose('paid', { type: 'Money', description: 'The sales: the sum of the amounts paid.' }),
    value: t.expose('value', { type: 'Money', description: 'The sum of their initial balances.' }),
    product: t.field({
      type: CatalogVoucher,
      nullable: true,
      description:
        'The product, as it is now. Null when it was deleted, or belongs to a tenant for which the token is not ' +
        'authorised.',
      policy: { permissions: products.permissions },
      resolve: ({ productId }, _args, context) => findAuthorisedProduct(productId, context),
    }),
  }),
})
