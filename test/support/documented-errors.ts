import { readFileSync } from 'node:fs'
import { documentErrorCodes } from '../../src/graphql-http/trusted-documents.ts'
import { statusOf } from '../../src/http/errors.ts'

const guide = readFileSync(new URL('../../docs/guides/errors.md', import.meta.url), 'utf8')

/**
 * The messages that the guide lists. These are code spans with whole sentences or messages of persisted queries. `{…}`
 * stands for any text.
 */
export const documentedMessages = [...guide.matchAll(/^\|.*?`([A-Z][^`]*\.|PersistedQuery\w+)`/gm)].map(
  ([, message = '']) => message,
)

const toPattern = (message: string) =>
  new RegExp(`^${message.replaceAll(/[.*+?^$()[\]\\|]/g, '\\$&').replaceAll(/\{\w*\}/g, '.+')}$`, 'u')

const patterns = [...documentedMessages, 'The request is not valid.'].map(toPattern)

const isDocumented = (message: string): boolean => patterns.some(pattern => pattern.test(message))

interface Problem {
  message?: unknown
  errors?: unknown
  extensions?: { code?: unknown; errors?: unknown }
}

/** Returns the messages of a REST or GraphQL error body that the guide does not list. */
export function undocumentedMessages(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return []
  const { message, errors }: Problem = body
  if (Array.isArray(errors)) return errors.flatMap(undocumentedGraphqlMessages)
  return typeof message === 'string' ? [message, ...fieldMessages(errors)].filter(text => !isDocumented(text)) : []
}

/**
 * The error codes of the service and of GraphQL Yoga. Errors with other codes have one of the many messages of
 * graphql-js.
 */
const ownCodes = new Set<unknown>([
  'BAD_REQUEST',
  ...Object.keys(statusOf).filter(code => code !== 'BAD_USER_INPUT'),
  ...documentErrorCodes,
])

function undocumentedGraphqlMessages({ message, extensions }: Problem): string[] {
  const messages = fieldMessages(extensions?.errors)
  const isOurs = messages.length > 0 || ownCodes.has(extensions?.code)
  return (isOurs ? [String(message), ...messages] : []).filter(text => !isDocumented(text))
}

const fieldMessages = (errors: unknown): string[] =>
  typeof errors === 'object' && errors !== null ? Object.values(errors).flat().map(String) : []
