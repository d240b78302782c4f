import type { Config } from '../../config/config.ts'

/**
 * Returns the name and the options of a cookie. Over https the name begins with `__Host-`, so that no other host and no
 * plain http can set the cookie (RFC 6265bis, 4.1.3.2). Over plain http all services of a machine share cookies,
 * because a cookie has no port: the prefix `vgw-` marks it as ours.
 *
 * @param sameSite `strict`: no request from another site has the cookie; `lax`: only a link from another site has it
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
