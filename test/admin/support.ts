// A browser for the pages behind the sign-in. `signIn` creates an administrator and returns a signed-in browser.
// `submit` loads a page and posts its form with the hidden fields, which include the CSRF token. `load` and `send` do
// these two steps separately. `post` sends a form without loading a page. No method follows a redirect: read
// `answer.location`.

import type { FastifyInstance } from 'fastify'
import { setPassword } from '../../src/domain/administrator/administrator-password.ts'
import type { Client } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import type { TestDatabase } from '../support/database.ts'

export type Fields = Record<string, string | string[]>

export interface Page {
  status: number
  headers: Record<string, string | number | string[] | undefined>
  html: string
  /** The text of the page's body without tags; white space is one blank. */
  text: string
  location: string | undefined
  cookies: string[]
}

export interface Form {
  action: string
  method: string
  /** The initial values of the controls that are not disabled: inputs, ticked boxes and selected options. */
  fields: URLSearchParams
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#x27': "'" }
const decode = (html: string) => html.replace(/&(\w+|#\w+);/g, (whole, name: string) => entities[name] ?? whole)

/** Returns the text of a part of a page without tags; white space becomes one blank. */
const toText = (html: string) =>
  decode(html.replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim()

/** Returns one list of cell texts per row of the tables in a page or in a part of a page. */
export const readTableRows = (html: string): string[][] =>
  [...html.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd]\b[^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell = '']) => toText(cell)),
  )

/** Returns the address of a pager's link to another page. */
export const findPagerLink = ({ html }: Page, rel: 'next' | 'prev'): string | undefined =>
  new RegExp(`href="([^"]*)" rel="${rel}"`).exec(html)?.[1]?.replaceAll('&amp;', '&')

const attribute = (tag: string, name: string): string | null => {
  const found = new RegExp(`\\s${name}(?:="([^"]*)")?(?=[\\s/>])`).exec(tag)
  return found ? decode(found[1] ?? '') : null
}

export function formsOf(html: string): Form[] {
  return [...html.matchAll(/<form\b[^>]*>[\s\S]*?<\/form>/g)].map(([form]) => {
    const open = /^<form\b[^>]*>/.exec(form)?.[0] ?? ''
    const fields = new URLSearchParams()
    for (const [control] of form.matchAll(/<input\b[^>]*>|<select\b[^>]*>[\s\S]*?<\/select>/g)) {
      const tag = /^<[^>]*>/.exec(control)?.[0] ?? ''
      const name = attribute(tag, 'name')
      if (name === null || attribute(tag, 'disabled') !== null) continue
      if (control.startsWith('<select')) {
        const options = [...control.matchAll(/<option\b[^>]*>/g)].map(([option]) => option)
        const chosen = options.find(option => attribute(option, 'selected') !== null) ?? options[0]
        if (chosen) fields.append(name, attribute(chosen, 'value') ?? '')
      } else if (!/^(checkbox|radio)$/.test(attribute(tag, 'type') ?? '') || attribute(tag, 'checked') !== null) {
        fields.append(name, attribute(tag, 'value') ?? '')
      }
    }
    return { action: attribute(open, 'action') ?? '', method: attribute(open, 'method') ?? 'get', fields }
  })
}

type SentHeaders = Record<string, string | undefined>

interface BrowserOptions {
  /** The origin of the service that the browser requests. */
  origin?: string
  address?: string
}

/** Creates a browser without a screen, which stores cookies and sends `Host` and `Origin` as real browsers do. */
export function createBrowser(app: FastifyInstance, options: BrowserOptions = {}) {
  const { origin = 'http://localhost:8080', address = '127.0.0.1' } = options
  const jar = new Map<string, string>()

  async function send(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    { payload, headers = {} }: { payload?: string; headers?: SentHeaders } = {},
  ): Promise<Page> {
    const sent = {
      host: new URL(origin).host,
      cookie: jar.size === 0 ? undefined : [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      ...((method === 'POST' || method === 'DELETE') && { origin }),
      ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...headers,
    }
    const received = await app.inject({
      method,
      url: path,
      headers: Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)),
      remoteAddress: address,
      ...(payload === undefined ? {} : { payload }),
    })
    const { statusCode: status, body: html } = received
    const cookies = [received.headers['set-cookie'] ?? []].flat()
    for (const cookie of cookies) {
      const [pair = '', ...attributes] = cookie.split('; ')
      const [name = '', value = ''] = pair.split(/=(.*)/s)
      if (attributes.some(each => each === 'Max-Age=0')) jar.delete(name)
      else jar.set(name, value)
    }
    const body = /<body>([\s\S]*)<\/body>/.exec(html)?.[1] ?? ''
    return { status, headers: received.headers, html, text: toText(body), location: received.headers.location, cookies }
  }

  const post = (path: string, fields: Fields | URLSearchParams, headers: SentHeaders = {}) =>
    send('POST', path, { payload: encode(fields).toString(), headers })

  /**
   * Loads a page, and fills in the form with `action`, or the last form. A value in `fields` replaces the value in the
   * form.
   */
  async function load(path: string, fields: Fields = {}, action?: string): Promise<Form> {
    const page = await send('GET', path)
    const forms = formsOf(page.html).filter(form => form.method === 'post')
    const form = forms.findLast(each => action === undefined || new URL(each.action, origin).pathname === action)
    if (!form) throw new Error(`no such form on ${path} (${page.status}): ${page.text.slice(0, 300)}`)
    const filled = new URLSearchParams(form.fields)
    for (const name of Object.keys(fields)) filled.delete(name)
    for (const [name, value] of encode(fields)) filled.append(name, value)
    return { ...form, action: form.action === '' ? path : form.action, fields: filled }
  }

  return {
    jar,
    get: (path: string, headers: SentHeaders = {}) => send('GET', path, { headers }),
    delete: (path: string, headers: SentHeaders = {}) => send('DELETE', path, { headers }),
    post,

    load,

    send: ({ action, fields }: Pick<Form, 'action' | 'fields'>) => post(action, fields),

    async submit(path: string, fields: Fields = {}, options: { action?: string; headers?: SentHeaders } = {}) {
      const form = await load(path, fields, options.action)
      for (let tries = 1; ; tries++) {
        const answer = await post(form.action, form.fields, options.headers)
        // On a busy machine, the check of a password may exceed the time limit of a request.
        if (answer.status !== 503 || !('password' in fields) || tries === 5) return answer
      }
    },
  }
}

export type Browser = ReturnType<typeof createBrowser>

function encode(fields: Fields | URLSearchParams): URLSearchParams {
  if (fields instanceof URLSearchParams) return fields
  const entries = Object.entries(fields)
  return new URLSearchParams(entries.flatMap(([name, values]) => [values].flat().map(value => [name, value])))
}

export const changePassword = (browser: Browser, current: string, password: string, again = password) =>
  browser.submit('/admin/account', { current, password, again }, { action: '/admin/account/password' })

/** The administrator who signs in by default. */
export const root = { email: 'root@example.com', password: 'a lot of quiet water' }

/**
 * The scrypt key of the password of `root`, with the smallest parameters. A check of this key takes almost no time; a
 * check of a usual key takes 0.25 s.
 */
const rootPasswordKey =
  'c2NyeXB0AAEAAAABAAAAAdigMOEJohJdaSyD3orJSgg8yrb/SrFyUY30kemcPNuFFy1vuPkT/j6wm0n7meCRVcwp/W0Kpzs4Fcsay/mdRI67VHWjRqNSP+XxS9B1xnbF'

type Accounts = Pick<TestDatabase, 'pool'>

/** Creates an administrator with the password of `root`. For an existing administrator, only the sessions end. */
export async function createAccount({ pool }: Accounts, email = root.email): Promise<void> {
  await setPassword(pool, tester, pool`account as (select ${email}::text as email)`, rootPasswordKey)
}

/** Creates an administrator as `createAccount` does, and returns a browser in which the administrator is signed in. */
export async function signIn(
  { app }: Pick<Client, 'app'>,
  accounts: Accounts,
  { email = root.email, ...options }: { email?: string } & BrowserOptions = {},
): Promise<Browser> {
  await createAccount(accounts, email)
  const browser = createBrowser(app, options)
  const answer = await browser.submit('/admin/login', { email, password: root.password })
  if (answer.status !== 303) throw new Error(`the sign-in failed (${answer.status}): ${answer.text}`)
  return browser
}
