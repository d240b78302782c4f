// The form with the filters of the list of vouchers.
import type { TargetedEvent } from 'preact'
import { Choice } from '../choice.tsx'
import { nameStatus, statuses } from '../figures/status-words.ts'
import { SearchInput } from '../search-input.tsx'
import type { Params } from '../view.ts'
import { type FilterName, readAmount, readCurrency, readStatuses } from './filter.ts'

export interface ProductChoice {
  id: string
  name: string
}

interface FiltersProps {
  params: Params
  currency: string | null
  currencies: readonly string[]
  products: readonly ProductChoice[]
  isFiltered: boolean
  /** True when the search also includes the names of recipients and of customers. */
  findsRecipients: boolean
  findsCustomers: boolean
  onChange: (params: Params, how?: 'push' | 'replace') => void
  onClear: () => void
}

/** Shows the filters. Each filter takes effect immediately. */
export function Filters(props: FiltersProps) {
  const { params, currency, currencies, products, isFiltered, findsRecipients, findsCustomers, onChange, onClear } =
    props
  const chosen = readStatuses(params.status)
  const set = (name: FilterName) => (value: string) => onChange({ [name]: value })
  const { product = '' } = params
  const isKnown = product === '' || products.some(({ id }) => id === product)
  const other = isKnown ? [] : [[product, `Product ${product}`] as const]
  const more = ['product', 'valid-from', 'valid-to', 'least', 'most']
  const hasMore = [...more, ...(params.of ? [] : ['in', 'bought-from', 'bought-to'])].some(name => params[name])
  return (
    <search>
      <form class="voucher-filters" onSubmit={event => event.preventDefault()}>
        <div class="field search">
          <label htmlFor="filter-text">
            Search reference{findsRecipients && ', recipient'}
            {findsCustomers ? ', product or customer' : ' or product'}
          </label>
          <SearchInput id="filter-text" text={params.text ?? ''} onSearch={text => onChange({ text }, 'replace')} />
        </div>
        <fieldset class="chips">
          <legend>Status</legend>
          {statuses.map(status => (
            <label class="chip">
              <input
                type="checkbox"
                checked={chosen.includes(status)}
                onChange={({ currentTarget: { checked } }) =>
                  set('status')(statuses.filter(each => (each === status ? checked : chosen.includes(each))).join(','))
                }
              />
              {nameStatus(status)}
            </label>
          ))}
        </fieldset>
        <details open={hasMore}>
          <summary>More filters</summary>
          <div class="filter-grid">
            <Choice
              id="filter-product"
              label="Product"
              value={product}
              options={[['', 'Any product'], ...other, ...products.map(({ id, name }) => [id, name] as const)]}
              onChoice={set('product')}
            />
            <Choice
              id="filter-in"
              label="Currency"
              value={readCurrency(params, currency)}
              options={[['', 'Any currency'], ...currencies.map(code => [code, code] as const)]}
              onChoice={set('in')}
            />
            <Range label="Purchased" type="date" names={['bought-from', 'bought-to']} {...{ params, onChange }} />
            <Range label="Valid until" type="date" names={['valid-from', 'valid-to']} {...{ params, onChange }} />
            <Range label="Balance" type="text" names={['least', 'most']} {...{ params, onChange }} />
          </div>
        </details>
        {isFiltered && (
          <button type="button" class="secondary small" onClick={onClear}>
            Clear the filters
          </button>
        )}
      </form>
    </search>
  )
}

interface RangeProps extends Pick<FiltersProps, 'params' | 'onChange'> {
  label: string
  type: 'date' | 'text'
  names: readonly [FilterName, FilterName]
}

/** The two fields of a range. Either field may be empty. */
const Range = ({ label, type, names, params, onChange }: RangeProps) => (
  <fieldset class="range">
    <legend>{label}</legend>
    {names.map((name, index) => {
      const value = params[name] ?? ''
      const isWrong = type === 'text' && value !== '' && readAmount(value) === null
      const shared = {
        id: name,
        value,
        'aria-label': `${label} ${index === 0 ? 'from' : 'to'}`,
        onChange: (event: TargetedEvent<HTMLInputElement>) => onChange({ [name]: event.currentTarget.value.trim() }),
      }
      return (
        <label htmlFor={name}>
          <span>{index === 0 ? 'from' : 'to'}</span>
          {type === 'date' ? (
            <input type="date" {...shared} />
          ) : (
            <input type="text" inputMode="decimal" size={8} aria-invalid={isWrong || undefined} {...shared} />
          )}
        </label>
      )
    })}
    {type === 'text' && names.some(name => params[name] && readAmount(params[name]) === null) && (
      <p class="field-error" role="alert">
        Give an amount, for example 12.50.
      </p>
    )}
  </fieldset>
)
