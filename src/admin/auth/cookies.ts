import type { Config } from '../../config/config.ts'

/**
 * Over https the name begins with `__Host-`, so that no other host and no plain http can set the cookie
 * (RFC 6265bis, 4.1.3.2). Over plain http, all services of a machine share cookies, because a cookie has no port: the
 * name marks the cookie as ours.
 *
 * @param sameSite `strict`: never sent with a request that another site began; `lax`: only when it is a plain link
 */
export function cookieSettings({ publicUrl }: Config, name: string, sameSite: 'strict' | 'lax') {
  const secure = publicUrl?.startsWith('https:') ?? false
  return {
    name: secure ? `__Host-${name}` : `vgw-${name}`,
    options: { path: '/', httpOnly: true, secure, sameSite },
  }
}

/** Returns the settings of the session cookie. */
export const sessionCookie = (config: Config) => cookieSettings(config, 'session', 'strict')
