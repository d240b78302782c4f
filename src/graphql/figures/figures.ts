/** The field `Tenant.figures`: sales, outstanding vouchers and consents, counted in the database. */
import { badInput, type FieldErrors, throwIfErrors } from '../../domain/errors.ts'
import type { FiguresRead, Figures as FiguresRow, Selection } from '../../domain/figures/figure.ts'
import { cutPeriod, maxIntervals } from '../../domain/figures/period.ts'
import { signups } from '../../domain/record/signup.ts'
import { vouchers } from '../../domain/record/voucher.ts'
import { currencyMessage, parseCurrency } from '../../domain/search/field.ts'
import { builder } from '../builder.ts'
import { unitComplexity } from '../complexity.ts'
import type { Context } from '../context.ts'
import { describePermissions } from '../node-types.ts'
import { Tenant } from '../tenant.ts'
import {
  ConsentPeriod,
  FigurePeriod,
  OutstandingFigure,
  ProductFigure,
  SalesFigure,
  StatusFigure,
} from './figure-types.ts'
import { figuresLoader } from './loader.ts'

/**
 * The cost of figures in quota units (R28). A unit stands for at most 16 ms of a core of PostgreSQL, measured by `npm
 * run bench -- searches` with 1,000 tenants. The cost of `figures` itself covers the search for the descendants, and
 * the part of each figure that grows with their number.
 */
const figuresCost = ({ withDescendants }: Record<string, unknown>): number => (withDescendants ? 4 : 1)

const figureCosts = { periods: 1, totals: 1, topProducts: 5, outstanding: 1, expiring: 1, status: 1, consents: 1 }

const PeriodInput = builder.inputType('PeriodInput', {
  description: 'A range of calendar days in the time zone of the figures. It includes `from` and `to`.',
  fields: t => ({
    from: t.field({ type: 'Date', required: true, description: 'The first day.' }),
    to: t.field({ type: 'Date', required: true, description: 'The last day.' }),
  }),
})

const FigureInterval = builder.enumType('FigureInterval', {
  description: 'The length of the intervals of a period.',
  values: {
    DAY: { description: 'Calendar days.' },
    WEEK: { description: 'Weeks that begin on Monday (ISO 8601).' },
    MONTH: { description: 'Calendar months.' },
  },
})

const TopProductOrder = builder.enumType('TopProductOrder', {
  description: 'The value by which products are ranked.',
  values: {
    PAID: { description: 'The sum of the amounts paid. Amounts of two currencies are not compared.' },
    VOUCHERS: { description: 'The number of vouchers sold.' },
  },
})

const needsSales = describePermissions(vouchers.permissions)

/**
 * Returns the options of a field of `Figures`, except its resolver: the options that all figures share, and the policy
 * of this figure.
 */
const createFigureOptions = (name: keyof typeof figureCosts, permissions = vouchers.permissions) => ({
  nullable: true as const,
  policy: { cost: figureCosts[name], permissions },
})

/** Returns the resolver that selects a figure. @param select as for `FiguresLoader.load` */
const createFigureResolver =
  <Result>(select: (selection: Selection) => (figures: FiguresRow) => Result) =>
  (source: FiguresRead, _args: object, { loaders }: Context) =>
    loaders.get(figuresLoader).load(source, select)

/** Returns the options of a figure without arguments, with its resolver. */
const createPlainFigure = <Name extends 'periods' | 'totals' | 'outstanding' | 'status' | 'consents'>(
  name: Name,
  permissions = vouchers.permissions,
) => ({
  ...createFigureOptions(name, permissions),
  resolve: createFigureResolver(selection => {
    selection[name] = true
    return figures => figures[name]
  }),
})

/** The assumed number of intervals for the complexity, enough for most periods. `maxIntervals` is the hard limit. */
const intervalComplexity = { field: unitComplexity, multiplier: 150 }
const currencyComplexity = { field: unitComplexity, multiplier: 3 }

const maxProducts = 100
const maxDays = 3_660

const Figures = builder.objectRef<FiguresRead>('Figures').implement({
  description:
    'Figures of a tenant. All figures of one level of a query are read in one snapshot of the ' +
    'database, so they agree with each other. They follow the records, usually within half a second. Amounts are exact to 15 digits, and ' +
    'never added across currencies.',
  fields: t => ({
    asOf: t.field({
      type: 'DateTime',
      description:
        'The instant that the figures have reached: every change whose `updatedAt` is earlier is included. A later ' +
        'change may also be included, either completely or not at all.',
      resolve: createFigureResolver(() => figures => figures.asOf),
    }),
    timeZone: t.field({
      type: 'String',
      description: 'The IANA time zone of the calendar days.',
      resolve: createFigureResolver(() => figures => figures.timeZone),
    }),
    periods: t.field({
      type: [FigurePeriod],
      description:
        'Each interval of the period, including intervals without sales. The first and the last interval are cut to ' +
        `the period. Vouchers without a purchase timestamp are left out.${needsSales}`,
      ...createPlainFigure('periods'),
      complexity: intervalComplexity,
    }),
    totals: t.field({
      type: [SalesFigure],
      description: `The sales of the whole period, by currency.${needsSales}`,
      ...createPlainFigure('totals'),
      complexity: currencyComplexity,
    }),
    topProducts: t.field({
      type: [ProductFigure],
      description:
        'The best-selling products of the period. By `PAID` and without `currency`: the best-selling products of ' +
        `each currency. Vouchers without a product are left out.${needsSales}`,
      ...createFigureOptions('topProducts'),
      complexity: ({ first }) => ({ field: unitComplexity, multiplier: Math.min(maxProducts, Math.max(1, first)) }),
      args: {
        first: t.arg.int({
          required: true,
          defaultValue: 10,
          description: `The number of products: 1 to ${maxProducts}.`,
        }),
        by: t.arg({ type: TopProductOrder, required: true, defaultValue: 'PAID', description: 'The order.' }),
        currency: t.arg.string({ description: 'Only sales in this currency, an ISO 4217 code.' }),
      },
      resolve: (source, { first, by, currency: given = null }, { loaders }) => {
        if (first < 1 || first > maxProducts) {
          throw badInput({ first: [`Must be 1 to ${maxProducts}, for example 10.`] })
        }
        const currency = given === null ? null : parseCurrency(given)
        if (given !== null && currency === null) throw badInput({ currency: [currencyMessage] })
        return loaders.get(figuresLoader).load(source, ({ topProducts }) => {
          const place = topProducts.push({ first, by, currency }) - 1
          return figures => figures.topProducts[place] ?? []
        })
      },
    }),
    outstanding: t.field({
      type: [OutstandingFigure],
      description: `The vouchers that are outstanding now, by currency. The period does not matter.${needsSales}`,
      ...createPlainFigure('outstanding'),
      complexity: currencyComplexity,
    }),
    expiring: t.field({
      type: [OutstandingFigure],
      description:
        'The outstanding vouchers whose last valid day is at most `withinDays` days from today, by currency. Today ' +
        `is the calendar day in the time zone of the tenant that owns the voucher.${needsSales}`,
      ...createFigureOptions('expiring'),
      complexity: currencyComplexity,
      args: {
        withinDays: t.arg.int({
          required: true,
          defaultValue: 30,
          description: `The number of days, 0 to ${maxDays}. With 0: vouchers whose last valid day is today.`,
        }),
      },
      resolve: (source, { withinDays }, { loaders }) => {
        if (withinDays < 0 || withinDays > maxDays) {
          throw badInput({ withinDays: [`Must be 0 to ${maxDays}, for example 30.`] })
        }
        return loaders.get(figuresLoader).load(source, ({ expiring }) => {
          const place = expiring.push(withinDays) - 1
          return figures => figures.expiring[place] ?? []
        })
      },
    }),
    status: t.field({
      type: [StatusFigure],
      description: `How many vouchers have each status now; the period does not matter.${needsSales}`,
      ...createPlainFigure('status'),
      complexity: { field: unitComplexity, multiplier: 6 },
    }),
    consents: t.field({
      type: [ConsentPeriod],
      description:
        'The consents to marketing in each interval of the period, including intervals without ' +
        `any.${describePermissions(signups.permissions)}`,
      ...createPlainFigure('consents', signups.permissions),
      complexity: intervalComplexity,
    }),
  }),
})

builder.objectField(Tenant, 'figures', t =>
  t.field({
    type: Figures,
    nullable: true,
    description:
      'Figures of a period, and current figures. Each figure counts as one or more operations of the rate limit.',
    policy: { cost: figuresCost },
    args: {
      period: t.arg({
        type: PeriodInput,
        required: true,
        description: 'The period of `periods`, `totals`, `topProducts` and `consents`.',
      }),
      by: t.arg({
        type: FigureInterval,
        required: true,
        defaultValue: 'MONTH',
        description: `The length of the intervals of the period, which has at most ${maxIntervals} of them.`,
      }),
      timeZone: t.arg.string({
        description:
          'The IANA time zone of the calendar days, for example Europe/Berlin. Default: the time zone of the tenant.',
      }),
      withDescendants: t.arg.boolean({
        required: true,
        defaultValue: false,
        description: 'True to include the tenants below this one for which the token is authorised.',
      }),
    },
    resolve: ({ id: tenantId }, { period, by, timeZone = null, withDescendants }, { loaders }) => {
      const fieldErrors: FieldErrors = {}
      const intervals = cutPeriod(period, by, fieldErrors)
      throwIfErrors(fieldErrors)
      return loaders.get(figuresLoader).sourceOf({ tenantId, withDescendants, intervals, by, timeZone })
    },
  }),
)
