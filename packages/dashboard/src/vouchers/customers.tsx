// The customers that a search finds, above the list of vouchers.
import type { SendOperation } from '../api.ts'
import { DashboardCustomers, type DashboardCustomersQuery, type MarketingSignupTextField } from '../operations.ts'
import { Failure } from '../placeholders.tsx'
import { useAnswer } from '../use-answer.ts'
import { useView } from '../use-view.ts'
import { FoundIn, Marked } from './match.tsx'

const fieldNames: Readonly<Record<MarketingSignupTextField, string>> = {
  FULL_NAME: 'name',
  FORENAME: 'given name',
  SURNAME: 'family name',
  EMAIL: 'e-mail address',
}

/**
 * Shows the customers whose names or e-mail addresses contain the text. The audit gets one entry per hour for such
 * searches.
 *
 * @param props.text the search text; not blank
 */
export function Customers({ request, text }: { request: SendOperation; text: string }) {
  const { tenant, withDescendants } = useView().view
  const answer = useAnswer(request, DashboardCustomers, { tenant, withDescendants, text })
  const found = answer.data?.tenant?.marketingSignups
  return (
    <section class="customers" aria-labelledby="customers-title" aria-busy={answer.loading}>
      <h3 id="customers-title">Customers who consent to marketing</h3>
      <Failure answer={answer} what="The customers" />
      {found && answer.of && found.edges.length > 0 && (
        <ul>
          {found.edges.map(({ node, matchedFields }) => (
            <Customer
              key={node.id}
              customer={node}
              fields={matchedFields}
              search={answer.of?.text ?? ''}
              withTenant={withDescendants}
            />
          ))}
        </ul>
      )}
      <p class="hint" role="status">
        {!found ? !answer.error && 'Searching …' : describeRest(found.edges.length, found.pageInfo.hasNextPage)}
      </p>
    </section>
  )
}

/**
 * Says that no customer was found, or that there may be more. A page can be empty although more customers match,
 * because the API limits the number of records that it reads per page.
 */
function describeRest(count: number, hasNextPage: boolean): string {
  if (hasNextPage)
    return count === 0 ? 'Type more of the name or address.' : 'There may be more: type more to find them.'
  return count === 0 ? 'No customer has these words.' : ''
}

type CustomerEdge = NonNullable<NonNullable<DashboardCustomersQuery['tenant']>['marketingSignups']>['edges'][number]

interface CustomerProps {
  customer: CustomerEdge['node']
  fields: CustomerEdge['matchedFields']
  search: string
  withTenant: boolean
}

function Customer({ customer, fields, search, withTenant }: CustomerProps) {
  const { fullName, forename, surname, email, tenant } = customer
  const name = fullName ?? ([forename, surname].filter(Boolean).join(' ') || null)
  // A given or family name is shown only when the full name does not contain it.
  const named = fields.filter(field => !(fullName && fields.includes('FULL_NAME') && /FORENAME|SURNAME/.test(field)))
  return (
    <li>
      <strong>{name ? <Marked text={name} search={search} /> : 'No name'}</strong>{' '}
      {email && <Marked text={email} search={search} />}
      {withTenant && tenant && <span class="muted of-tenant">{tenant.name}</span>}
      <FoundIn fields={named.map(field => ({ name: fieldNames[field] }))} />
    </li>
  )
}
