// Starts GraphiQL, with one token for all its tabs.

const { endpoint, workers, schema, tabs, demoToken, tokenDocument, adminPath } = JSON.parse(
  document.getElementById('settings').textContent,
)
const [form, input, status, remove] = ['token-form', 'token', 'token-status', 'token-remove'].map(id =>
  document.getElementById(id),
)
const noToken = status.textContent

/** Where the token is kept: it survives a reload and ends with the browser tab. */
const key = 'voucher-gateway:token'
/** Set when the token of the demo was removed, so that a reload does not bring it back. */
const removedKey = 'voucher-gateway:token-removed'
let token = sessionStorage.getItem(key) ?? (sessionStorage.getItem(removedKey) ? null : demoToken)

/** What the answer to a request without a token says besides. */
const help = [
  'This request had no token. Type one in the field “Token” above: all tabs use it.',
  'Administrators of this service create tokens on its page “API access”:',
  String(new URL(adminPath, location.origin)),
  'If you are none, ask one of them, or the person who gave you this address. Name the tenants that you need, and what you want to read.',
  'Where a demo of the service was started, its token was printed.',
]

/** @param kind `good`, `bad` or nothing */
function show(text, kind = '') {
  status.textContent = text
  status.className = kind
  remove.hidden = token === null
}

function forget() {
  token = null
  sessionStorage.removeItem(key)
}

/**
 * Sends a request with the token. Headers from the headers editor come last: an `Authorization` typed there wins.
 *
 * @returns the status, the body, which is the result, and whether a token was sent
 */
async function send(request, typedHeaders = {}) {
  const headers = new Headers({ Accept: 'application/json', 'Content-Type': 'application/json' })
  const authorization = token === null ? null : `Bearer ${token}`
  if (authorization) headers.set('Authorization', authorization)
  for (const [name, value] of Object.entries(typedHeaders)) headers.set(name, value)
  const sent = headers.get('Authorization')
  const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(request) })
  const body = await response.json().catch(() => {
    throw new Error(`The response has status ${response.status} and is not JSON.`)
  })
  if (response.status === 401 && sent === null) show('The request had no token. Type one here: all tabs use it.', 'bad')
  if (response.status === 401 && sent !== null && sent === authorization && sent === `Bearer ${token}`) {
    forget()
    show('The service refuses this token: it is unknown, expired or revoked. Type another one.', 'bad')
  }
  return { status: response.status, body, hadToken: sent !== null }
}

/** Uses a token from now on, and asks the service whose it is. */
async function use(given) {
  token = given
  sessionStorage.setItem(key, token)
  show('Checking the token …')
  let outcome
  try {
    const { status: code, body } = await send({ documentId: tokenDocument })
    if (code === 401) return
    const name = body.data?.viewer.name
    const kind = given === demoToken ? 'the token of this demo' : 'the token'
    outcome = name ? `All tabs use ${kind} “${name}”.` : `All tabs use the token. ${body.errors[0].message}`
  } catch (error) {
    outcome = `All tabs use the token, but it could not be checked: ${error.message}`
  }
  // Another one may have been typed meanwhile.
  if (token === given) show(`${outcome} It is kept until this browser tab is closed.`, 'good')
}

form.addEventListener('submit', event => {
  event.preventDefault()
  const given = input.value.trim().replace(/^bearer\s+/i, '')
  input.value = ''
  if (/^[\x21-\x7e]+$/.test(given)) use(given)
  else show('This is not a token: a token is one word of letters, digits and “_”. Type it again.', 'bad')
})

remove.addEventListener('click', () => {
  forget()
  if (demoToken !== null) sessionStorage.setItem(removedKey, 'yes')
  show(noToken)
  input.focus()
})

/** Uses the stored token. The token of another demo ended with its database. */
async function useStored() {
  const stored = token
  await use(stored)
  if (token === null && demoToken !== null && stored !== demoToken) await use(demoToken)
}

if (token !== null) useStored()

// On the first visit the documentation is open, where there is room for it.
const visitedKey = 'voucher-gateway:graphiql-visited'
if (localStorage.getItem(visitedKey) === null && innerWidth >= 900) {
  sessionStorage.setItem('graphiql:visiblePlugin', 'Documentation Explorer')
}
localStorage.setItem(visitedKey, 'yes')

self.MonacoEnvironment = { getWorkerUrl: (_module, label) => workers[label] }

// Earlier versions let GraphiQL keep its history, with the headers of each request, in localStorage.
for (const name of ['graphiql:queries', 'graphiql:favorites']) localStorage.removeItem(name)

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
  // Its history holds the headers of each request, which may hold a token.
  storage: sessionStorage,
  shouldPersistHeaders: false,
  defaultEditorToolsVisibility: 'variables',
  // By default the query goes into the address, and with it what was typed: references of vouchers, say.
  onEditQuery: () => {},
})
