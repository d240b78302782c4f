import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'

const path = '/.well-known/security.txt'

/** The time until the file expires, in milliseconds. RFC 9116 §2.5.5 recommends less than a year. */
const validForMs = 180 * 86_400_000

/** Serves the addresses for reports of weaknesses (RFC 9116), when `SECURITY_CONTACT` has any. */
export function registerSecurityTxt(app: FastifyInstance, { securityContacts, publicUrl }: Config): void {
  if (securityContacts.length === 0) return
  app.get(path, (_request, reply) => {
    const lines = [
      ...securityContacts.map(uri => `Contact: ${uri}`),
      `Expires: ${new Date(Date.now() + validForMs).toISOString()}`,
      'Preferred-Languages: en',
      // The addresses in the file must be https (§2.5.2).
      ...(publicUrl?.startsWith('https:') ? [`Canonical: ${publicUrl}${path}`] : []),
    ]
    return reply.type('text/plain; charset=utf-8').send(`${lines.join('\n')}\n`)
  })
}
