const query = `query Sales($tenant: ID!, $period: PeriodInput!) {
  tenant(id: $tenant) {
    figures(period: $period, by: MONTH, withDescendants: true) {
      periods { from sales { currency vouchers paid } }
    }
  }
}`
const variables = { tenant: 1, period: { from: '2026-09-01', to: '2026-10-31' } }

interface Answer {
  data: { tenant: { figures: { periods: { from: string; sales: Sales[] }[] } } }
  errors?: { message: string }[]
}

interface Sales {
  currency: string | null
  vouchers: number
  paid: number
}

const response = await fetch(`${process.env.VOUCHER_GATEWAY_URL}/graphql`, {
  method: 'POST',
  headers: {
    Authorization: `Bearer ${process.env.VOUCHER_GATEWAY_TOKEN}`,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify({ query, variables }),
})
const answer: Answer = await response.json()
if (!response.ok || answer.errors) throw new Error(JSON.stringify(answer))

for (const { from, sales } of answer.data.tenant.figures.periods) {
  for (const { currency, vouchers, paid } of sales) console.log(from, currency, vouchers, paid)
}
