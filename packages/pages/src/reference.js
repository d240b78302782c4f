// Starts Scalar with the service's own OpenAPI document, and with the token of the browser tab.

import { keepRepaired } from '/assets/repair.js'
import { parseToken, readToken, storeToken } from '/assets/site.js'

const place = document.getElementById('main')

/**
 * v1 refuses a request without it (R2). OpenAPI does not list `Accept` as a parameter, so Scalar's code samples omit
 * it.
 */
const accept = {
  name: 'Accept',
  in: 'header',
  required: true,
  description: 'The media type of the response.',
  schema: { type: 'string', const: 'application/json' },
  example: 'application/json',
}

/** Returns the OpenAPI document, with the header in all operations of v1. */
async function readDocument() {
  const response = await fetch(place.dataset.document)
  const described = await response.json()
  for (const [path, operations] of Object.entries(described.paths)) {
    if (!path.startsWith('/v1/')) continue
    for (const method of ['get', 'post']) operations[method]?.parameters.push(accept)
  }
  return described
}

window.Scalar.createApiReference(place, {
  content: await readDocument(),
  // Without this setting Scalar would request fonts from another origin.
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: false,
  authentication: {
    preferredSecurityScheme: 'bearerToken',
    securitySchemes: { bearerToken: { token: readToken() ?? '' } },
  },
  // Light or dark follows the system, as on all pages.
  forceDarkModeState: matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light',
  hideDarkModeToggle: true,
  defaultOpenAllTags: true,
  // Each operation shows its models, so a list of all models would only lengthen the page.
  hideModels: true,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
})

function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
}

/**
 * Adds to Scalar's elements what screen readers and the keyboard need. A later version of Scalar may make some of the
 * changes needless.
 */
keepRepaired([
  ['button[aria-selected]:not([role])', button => button.removeAttribute('aria-selected')],
  ['aside[role="navigation"], button[role="search"], button[role="none"]', element => element.removeAttribute('role')],
  ['.response-card[role="region"]', card => card.removeAttribute('role')],
  ['.endpoints:not([tabindex])', list => list.setAttribute('tabindex', '0')],
  ['.cm-content:not([aria-label])', editor => editor.setAttribute('aria-label', 'Value')],
  ['.cm-scroller[tabindex="-1"]', view => view.setAttribute('tabindex', '0')],
  ['input.peer[type="checkbox"]:not([aria-label])', box => box.setAttribute('aria-label', 'Send this row')],
  // On a narrow screen the header of Scalar is below the header of the site.
  ['#main header:not([role])', header => header.setAttribute('role', 'presentation')],
  // This element sometimes names the section that is shown.
  ['#main header > span:not([role])', label => setAttributes(label, { role: 'region', 'aria-label': 'Section' })],
  ['[class*="group/copy-button"]:not([aria-label])', button => button.setAttribute('aria-label', 'Copy')],
  // This attribute refers to an element that does not always exist.
  ['[class*="group/copy-button"][aria-controls]', button => button.removeAttribute('aria-controls')],
  ['.code-copy:not([aria-label])', button => button.setAttribute('aria-label', 'Copy')],
])

// A token that is typed here signs in on all pages.
place.addEventListener('change', ({ target }) => {
  const token = target.placeholder === 'Token' ? parseToken(target.value) : null
  if (token !== null && token !== readToken()) storeToken(token)
})
