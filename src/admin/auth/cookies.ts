import type { CookieSerializeOptions } from '@fastify/cookie'
import type { Config } from '../../config.ts'

/** A cookie's name and how it is set. */
interface CookieKind {
  name: string
  options: CookieSerializeOptions & { httpOnly: boolean; secure: boolean }
}

/**
 * A cookie of the page. Over https its name begins with `__Host-`, so that no other host and no plain http can set it
 * (RFC 6265bis, 4.1.3.2). Plain http is there for this machine alone, whose other services share its cookies whatever
 * their ports: the name says whose it is.
 *
 * @param sameSite `strict`: never sent along with what another site begins; `lax`: only with its plain links
 */
export function cookieKind({ publicUrl }: Config, name: string, sameSite: 'strict' | 'lax'): CookieKind {
  const secure = publicUrl?.startsWith('https:') ?? false
  return {
    name: secure ? `__Host-${name}` : `vgw-${name}`,
    options: { path: '/', httpOnly: true, secure, sameSite },
  }
}
