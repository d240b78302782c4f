import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { hasNoAdministrator, parseEmail } from '../../domain/administrator.ts'
import { verifyCredentials } from '../../domain/administrator-password.ts'
import type { FieldErrors } from '../../domain/errors.ts'
import { signOut } from '../../domain/session.ts'
import { clientAddress } from '../../http/caller.ts'
import { adminPath } from '../../http/paths.ts'
import { FaultSummary, Field } from '../components/field.tsx'
import { CsrfToken, Page, sendPage, type View } from '../components/layout.tsx'
import { actorOf, formOf, signedIn, viewOf } from '../context.ts'
import { queryOf } from '../form-body.ts'
import type { AdminContext } from '../index.ts'
import { NoAdministratorYet } from './first-administrator.tsx'
import type { LoginThrottle } from './login-throttle.ts'
import { sessionCookie, signIn } from './session.ts'

const loginPath = `${adminPath}/login`

/** Why somebody comes to the sign-in, by the word that the address carries. */
const reasons = {
  out: { kind: 'notice', sentence: 'You are signed out.' },
  everywhere: { kind: 'notice', sentence: 'You are signed out everywhere.' },
  lost: {
    kind: 'warning',
    sentence: 'Your session has ended, and what you sent was not kept. Sign in, and do it again.',
  },
} as const

type Reason = keyof typeof reasons

/** The sign-in, saying why one comes to it. */
const loginPathBecause = (reason: Reason) => `${loginPath}?because=${reason}`

/**
 * Lets only those on who are signed in.
 *
 * A request that another site began comes without the session's cookie, which is strict: it goes on by itself from a
 * page of ours, and then has it.
 */
export async function requireSignIn(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
  if (signedIn(request)) return undefined
  if (request.method !== 'GET' && request.method !== 'HEAD') return reply.redirect(loginPathBecause('lost'), 303)
  if (request.headers['sec-fetch-site'] === 'cross-site') return sendOnward(reply, request.url)
  return reply.redirect(`${loginPath}?next=${encodeURIComponent(request.url)}`, 303)
}

/** Answers with a page that goes on by itself. */
export function sendOnward(reply: FastifyReply, path: string): FastifyReply {
  return sendPage(
    reply.header('Refresh', `0;url=${path}`),
    <Page title="One moment" view={{ administrator: null, csrfToken: '', notice: null }} narrow>
      <p>
        <a href={path}>Go on</a>
      </p>
    </Page>,
  )
}

/** The longest `next` that is read, in characters: the time to parse a host name grows with the square of its length. */
const longestNext = 2_000

/** @returns the page that was asked for first, if it is one of ours */
export function nextOf(text: string | null): string {
  const home = `${adminPath}/tokens`
  if (text === null || text.length > longestNext || !URL.canParse(text, 'http://here')) return home
  const { origin, pathname, search } = new URL(text, 'http://here')
  const ours = origin === 'http://here' && (pathname === adminPath || pathname.startsWith(`${adminPath}/`))
  return ours ? pathname + search : home
}

/** Signing in with a password, and signing out. */
export function registerLoginPages(
  scope: FastifyInstance,
  { sql, config }: AdminContext,
  attempts: LoginThrottle,
): void {
  const openId = config.openId !== undefined

  scope.get('/login', async (request, reply) => {
    const query = queryOf(request)
    const next = nextOf(query.get('next'))
    if (signedIn(request)) return reply.redirect(next, 303)
    const reason = Object.entries(reasons).find(([word]) => word === query.get('because'))?.[1]
    const noAdministrator = await hasNoAdministrator(sql)
    const view = viewOf(request, reply)
    return sendPage(
      reply,
      <Login view={view} next={next} reason={reason} openId={openId} noAdministrator={noAdministrator} />,
    )
  })

  scope.post('/login', async (request, reply) => {
    const form = formOf(request)
    const next = nextOf(form.get('next'))
    const given = form.get('email') ?? ''
    const password = form.get('password') ?? ''
    const sendFaults = async (fieldErrors: FieldErrors) => {
      const noAdministrator = await hasNoAdministrator(sql)
      const view = viewOf(request, reply)
      const page = (
        <Login
          view={view}
          next={next}
          openId={openId}
          noAdministrator={noAdministrator}
          email={given}
          fieldErrors={fieldErrors}
        />
      )
      return sendPage(reply, page, 422)
    }
    if (given.trim() === '') return sendFaults({ email: ['Give your e-mail.'] })
    if (password === '') return sendFaults({ password: ['Give your password.'] })

    // What is no e-mail is not put down: it may be a password in the wrong field.
    const email = parseEmail(given)
    const actor = { name: email ?? 'no e-mail', address: clientAddress(request) }
    const entered = await attempts.signIn(actor, async () => {
      const verified = await verifyCredentials(sql, email ?? '', password)
      return verified && (await signIn(sql, request, verified, 'password')) ? verified : null
    })
    if (!entered) return sendFaults({ email: ['The e-mail or the password is not right.'] })
    return reply.redirect(next, 303)
  })

  scope.post('/logout', async (request, reply) => {
    if (!signedIn(request)) return reply.redirect(loginPathBecause('out'), 303)
    await signOut(sql, actorOf(request), request.session.sessionId)
    return leave(request, reply, config, 'out')
  })
}

/** Answers whose sessions have just ended: the browser forgets its own. */
export async function leave(
  request: FastifyRequest,
  reply: FastifyReply,
  config: Config,
  reason: Reason,
): Promise<FastifyReply> {
  await request.session.destroy()
  const { name, options } = sessionCookie(config)
  return reply.clearCookie(name, options).redirect(loginPathBecause(reason), 303)
}

interface LoginProps {
  view: View
  next: string
  openId: boolean
  /** Whether there is no administrator yet. */
  noAdministrator: boolean
  reason?: (typeof reasons)[Reason] | undefined
  email?: string
  fieldErrors?: FieldErrors
}

function Login({ view, next, openId, noAdministrator, reason, email = '', fieldErrors = {} }: LoginProps) {
  return (
    <Page title="Sign in" view={view} narrow>
      {reason && (
        <p class={reason.kind} role="status">
          {reason.sentence}
        </p>
      )}
      {noAdministrator && <NoAdministratorYet openId={openId} />}
      <FaultSummary fieldErrors={fieldErrors} />
      <form method="post" action={loginPath} class="card">
        <CsrfToken view={view} />
        <input type="hidden" name="next" value={next} />
        <Field
          name="email"
          label="E-mail"
          type="email"
          value={email}
          fieldErrors={fieldErrors}
          required
          autocomplete="username"
        />
        <Field
          name="password"
          label="Password"
          type="password"
          fieldErrors={fieldErrors}
          required
          autocomplete="current-password"
        />
        <button type="submit">Sign in</button>
      </form>
      {openId && (
        <p>
          <a class="button plain" href={`${loginPath}/openid?next=${encodeURIComponent(next)}`}>
            Sign in with your organisation
          </a>
        </p>
      )}
    </Page>
  )
}
