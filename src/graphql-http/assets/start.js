// Starts GraphiQL, with one token for all its tabs.

const { endpoint, workers, schema, tabs } = JSON.parse(document.getElementById('settings').textContent)
const [form, input, status, remove] = ['token-form', 'token', 'token-status', 'token-remove'].map(id =>
  document.getElementById(id),
)
const noToken = status.textContent

/** Where the token is kept: it survives a reload and ends with the browser tab. */
const key = 'voucher-gateway:token'
let token = sessionStorage.getItem(key)

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
 * @returns the status, and the body, which is the result
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
  return { status: response.status, body }
}

/** Uses a token from now on, and asks the service whose it is. */
async function use(given) {
  token = given
  sessionStorage.setItem(key, token)
  show('Checking the token …')
  let outcome
  try {
    const { status: code, body } = await send({ query: '{ viewer { name } }' })
    if (code === 401) return
    const name = body.data?.viewer.name
    outcome = name ? `All tabs use the token “${name}”.` : `All tabs use the token. ${body.errors[0].message}`
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
  show(noToken)
  input.focus()
})

if (token !== null) use(token)

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
  fetcher: async (request, { headers } = {}) => (await send(request, headers)).body,
  // Its history holds the headers of each request, which may hold a token.
  storage: sessionStorage,
  shouldPersistHeaders: false,
  defaultEditorToolsVisibility: 'variables',
  // By default the query goes into the address, and with it what was typed: references of vouchers, say.
  onEditQuery: () => {},
})
