import { GraphQLError, type GraphQLErrorExtensions, Source } from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'

/** An error as the response has it. A `GraphQLError` also refers to the text, to nodes and so to the whole document. */
interface ShownError {
  message: string
  /** Offsets in the document; none in a long document. */
  positions: readonly number[] | undefined
  extensions: GraphQLErrorExtensions
}

interface DocumentContext extends Record<string, unknown> {
  params: GraphQLParams
}

/**
 * Creates the plugin that remembers the errors of documents that cannot be parsed or are not valid, so that the same
 * document costs no parsing and no validation again. It keeps at most a million characters of texts and messages.
 *
 * Must come after the plugins that change the messages of errors.
 */
export function rememberRejected(): Plugin<DocumentContext> {
  const rejected = new LRUCache<string, { errors: readonly ShownError[] }>({
    max: 1000,
    maxSize: 1_000_000,
    sizeCalculation: ({ errors }, text) => errors.reduce((sum, { message }) => sum + message.length, text.length + 1),
  })
  /** The texts that requests under way sent, and that are not valid. */
  const faulty = new WeakMap<object, string>()
  const markFaulty = (context: DocumentContext) => {
    if (context.params.query !== undefined) faulty.set(context.params, context.params.query)
  }
  return {
    onParams({ params: { query }, setResult }) {
      if (query === undefined) return
      const known = rejected.get(query)
      if (!known) return
      const source = new Source(query)
      setResult({ errors: known.errors.map(error => new GraphQLError(error.message, { ...error, source })) })
    },
    onParse({ context }) {
      return ({ result }) => {
        if (result instanceof Error) markFaulty(context)
      }
    },
    onValidate({ context }) {
      return ({ valid }) => {
        if (!valid) markFaulty(context)
      }
    },
    onExecutionResult({ result, context }) {
      const text = faulty.get(context.params)
      if (text === undefined || !result || !('errors' in result) || !result.errors) return
      rejected.set(text, { errors: result.errors.map(toShown) })
    },
  }
}

const toShown = ({ message, positions, extensions }: GraphQLError): ShownError => ({ message, positions, extensions })
