// Starts GraphiQL, with one token for all its tabs.

import { keepRepaired } from '/assets/repair.js'
import { describeToken, forgetToken, parseToken, readToken, storeToken } from '/assets/site.js'

const { endpoint, schema, tabs, tokenDocument, adminAddress } = JSON.parse(
  document.getElementById('settings').textContent,
)
const [form, input, status] = ['token-form', 'token', 'token-status'].map(id => document.getElementById(id))

/** The text that GraphiQL adds to the answer to a request without a token. */
const help = [
  'This request had no token. Type a token in the field “Token” above: all tabs use it.',
  'Administrators of this service create tokens on its page “API access”:',
  String(new URL(adminAddress, location.origin)),
  'If you are none, ask one of them, or the person who gave you this address. Name the tenants that you need, and what you want to read.',
  'Where a demo of the service was started, its token was printed.',
]

/** Asks for a token, and says why. */
function ask(reason) {
  status.textContent = reason
  status.className = 'bad'
  form.hidden = false
}

/**
 * Sends a request with the token. Headers from the headers editor come last: an `Authorization` typed there wins.
 *
 * @returns the status, the body, which is the result, and whether a token was sent
 */
async function send(request, typedHeaders = {}) {
  const headers = new Headers({ Accept: 'application/json', 'Content-Type': 'application/json' })
  const token = readToken()
  const authorization = token === null ? null : `Bearer ${token}`
  if (authorization) headers.set('Authorization', authorization)
  for (const [name, value] of Object.entries(typedHeaders)) headers.set(name, value)
  const sent = headers.get('Authorization')
  const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(request) })
  const body = await response.json().catch(() => {
    throw new Error(`The response has status ${response.status} and is not JSON.`)
  })
  if (response.status === 401 && sent === null) ask('The request had no token. Type one here: all tabs use it.')
  if (response.status === 401 && sent !== null && sent === authorization && readToken() === token) {
    forgetToken()
    ask('The service refuses this token: it is unknown, expired or revoked. Type another token.')
  }
  return { status: response.status, body, hadToken: sent !== null }
}

/** Asks the service for the name of the token. Without an answer, the header shows no name. */
async function checkToken() {
  const token = readToken()
  const { body } = await send({ documentId: tokenDocument })
  // Another token may have been typed during the request.
  if (body.data && readToken() === token) describeToken(body.data.viewer)
}

form.addEventListener('submit', event => {
  event.preventDefault()
  const token = parseToken(input.value)
  input.value = ''
  if (token === null) return ask('This is not a token: a token is one word of letters, digits and “_”. Type it again.')
  storeToken(token)
  form.hidden = true
  checkToken().catch(() => {})
})

if (readToken() === null) form.hidden = false
else checkToken().catch(() => {})

// On the first visit the documentation is open, if the screen is wide enough.
const visitedKey = 'voucher-gateway:graphiql-visited'
const isWide = innerWidth >= 900
if (localStorage.getItem(visitedKey) === null && isWide) {
  sessionStorage.setItem('graphiql:visiblePlugin', 'Documentation Explorer')
}
localStorage.setItem(visitedKey, 'yes')

// A query is read without scrolling sideways, as an answer is.
monaco.editor.onDidCreateEditor(editor => editor.updateOptions({ wordWrap: 'on' }))

// GraphiQL opens the tab that holds its initial query, and a new one when there is none: after a reload, the active tab.
const stored = JSON.parse(sessionStorage.getItem('graphiql:tabState'))
const active = stored?.tabs[stored.activeTabIndex]

YogaGraphiQL.renderYogaGraphiQL(document.getElementById('graphiql'), {
  title: 'GraphiQL',
  schema,
  defaultTabs: tabs,
  ...(active && { initialQuery: active.query, initialVariables: active.variables }),
  fetcher: async (request, { headers } = {}) => {
    const { status, body, hadToken } = await send(request, headers)
    return status === 401 && !hadToken ? { ...body, extensions: { ...body.extensions, help } } : body
  },
  // The history of GraphiQL holds the headers of each request, and these may contain a token.
  storage: sessionStorage,
  shouldPersistHeaders: false,
  // On a narrow screen, the query and the answer need the space.
  defaultEditorToolsVisibility: isWide && 'variables',
  // By default the query goes into the address, with typed text such as references of vouchers.
  onEditQuery: () => {},
})

// A tab must not hold buttons (axe: nested-interactive). The tabs become a list of buttons, and one of them is current,
// as in GraphiQL 6 (https://github.com/graphql/graphiql/pull/4487).
keepRepaired([
  ['.graphiql-tabs', list => list.removeAttribute('role')],
  ['#graphiql-session', panel => panel.setAttribute('role', 'region')],
  [
    '.graphiql-tab',
    item => {
      item.removeAttribute('role')
      item.removeAttribute('aria-selected')
      const isCurrent = item.classList.contains('graphiql-tab-active')
      item.querySelector('.graphiql-tab-button')?.setAttribute('aria-current', String(isCurrent))
    },
  ],
])
