// The sign-in of the demo, without a password. The form and its path exist only in the demo.
import { verifyOpenIdAdministrator } from '../../domain/administrator/openid.ts'
import { GatewayError } from '../../domain/errors.ts'
import { clientAddress } from '../../http/client-address.ts'
import { PostForm } from '../components/layout.tsx'
import type { Handler } from '../context.ts'
import { formBody } from '../form-body.ts'
import { loginPath, parseNext } from './redirects.tsx'
import { signIn } from './session.ts'

/**
 * The administrator of the demo. The stored subject of any OpenID account begins with its issuer, so no such account
 * has this subject.
 */
const demoIdentity = { subject: 'demo', email: 'demo@example.com', name: 'demo@example.com' }

/**
 * POST /admin/login/demo. Without `PUBLIC_URL`, as in the demo, `checkOrigin` accepts only a browser on this machine.
 */
export const logInToDemo: Handler = async ({ sql }, request, reply) => {
  const actor = { name: demoIdentity.email, address: clientAddress(request) }
  const verified = await verifyOpenIdAdministrator(sql, actor, demoIdentity)
  if (!verified || !(await signIn(sql, request, verified, 'demo'))) {
    throw new GatewayError('FORBIDDEN', 'The administrator of the demo was removed. Sign in with another account.')
  }
  return reply.redirect(parseNext(formBody(request).get('next')), 303)
}

/** Signs in to the demo. @param next the path to which to redirect after the sign-in */
export const DemoSignIn = ({ next }: { next: string }) => (
  <PostForm action={`${loginPath}/demo`} class="card" data-sign-in>
    <input type="hidden" name="next" value={next} />
    <p>This is the demo. A browser on its own machine needs no password.</p>
    <button type="submit">Sign in to the demo</button>
  </PostForm>
)
