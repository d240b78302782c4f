// Redirects to the sign-in and back to the page that was requested.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { adminPath } from '../../http/paths.ts'
import { Layout } from '../components/layout.tsx'
import { findSignedIn, sendPage } from '../context.ts'
import { sessionCookie } from './session.ts'

export const loginPath = `${adminPath}/login`

/** The messages that the sign-in page shows, by the `because` parameter of its URL. */
export const loginMessages = {
  out: { kind: 'notice', text: 'You are signed out.' },
  everywhere: { kind: 'notice', text: 'You are signed out everywhere.' },
  lost: {
    kind: 'warning',
    text: 'Your session has ended, and what you sent was not saved. Sign in and repeat it.',
  },
} as const

type LoginReason = keyof typeof loginMessages

const loginPathBecause = (reason: LoginReason) => `${loginPath}?because=${reason}`

/**
 * A hook that redirects requests without a session to the sign-in. The session cookie is strict, so browsers do not
 * send it when a person opens a link on another site. The hook then answers with a page that repeats the request, and
 * the browser sends the cookie.
 */
export async function requireSignIn(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
  if (findSignedIn(request)) return undefined
  if (request.method !== 'GET' && request.method !== 'HEAD') return reply.redirect(loginPathBecause('lost'), 303)
  if (request.headers['sec-fetch-site'] === 'cross-site') return sendRefresh(reply, request.url)
  return reply.redirect(`${loginPath}?next=${encodeURIComponent(request.url)}`, 303)
}

/** Answers with a page that automatically loads another page, so that the navigation begins at this site. */
export const sendRefresh = (reply: FastifyReply, path: string): FastifyReply =>
  sendPage(
    reply.header('Refresh', `0;url=${path}`),
    <Layout title="One moment" narrow>
      <p>
        <a href={path}>Continue</a>
      </p>
    </Layout>,
  )

/** The maximum length of a `next` that is read, in characters: parsing a host name takes quadratic time. */
const maxNextLength = 2_000

/**
 * Returns the path that was requested before the sign-in. If that path is not below `/admin`, returns the path of the
 * list of tokens.
 */
export function parseNext(text: string | null): string {
  const home = `${adminPath}/tokens`
  if (text === null || text.length > maxNextLength || !URL.canParse(text, 'http://here')) return home
  const { origin, pathname, search } = new URL(text, 'http://here')
  const ours = origin === 'http://here' && (pathname === adminPath || pathname.startsWith(`${adminPath}/`))
  return ours ? pathname + search : home
}

/** Deletes the browser's session and its cookie. */
export async function deleteBrowserSession(reply: FastifyReply, config: Config): Promise<void> {
  await reply.request.session.destroy()
  const { name, options } = sessionCookie(config)
  reply.clearCookie(name, options)
}

/** Deletes the browser's session and its cookie, and redirects to the sign-in. */
export async function endSession(reply: FastifyReply, config: Config, reason: LoginReason): Promise<FastifyReply> {
  await deleteBrowserSession(reply, config)
  return reply.redirect(loginPathBecause(reason), 303)
}

/** Redirects a browser to the sign-in after its session was deleted. */
export const redirectSignedOut = (reply: FastifyReply): FastifyReply => reply.redirect(loginPathBecause('out'), 303)
