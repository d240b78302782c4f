import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import { complexityFromQuery } from '@pothos/plugin-complexity'
import { type DocumentNode, GraphQLError, type ValidationRule } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { schema } from '../graphql/schema.ts'

/** How large a stranger's document may be. */
export const limits = { depth: 10, aliases: 30, tokens: 2000, cost: 25_000 }

/** @returns what running the document costs: the sum of its fields, each as often as the lists it stands in are long */
export const costOf = (document: DocumentNode, ctx: object, variables: Record<string, unknown>): number =>
  complexityFromQuery(document, { schema, ctx, variables }).complexity

/** Introspection takes no aliases: with them, one small document asks for the whole schema many times over. */
const introspectionWithoutAliases: ValidationRule = context => ({
  Field(field) {
    const within = context.getParentType()?.name.startsWith('__')
    if (!field.alias || !(within || ['__schema', '__type'].includes(field.name.value))) return
    context.reportError(new GraphQLError('Introspection takes no aliases.', { nodes: field }))
  },
})

/** The plugins that hold documents to the limits, before anything of them is executed. */
export const limitPlugins = (): Plugin[] => [
  maxTokensPlugin({ n: limits.tokens }),
  maxDepthPlugin({ n: limits.depth }),
  maxAliasesPlugin({ n: limits.aliases }),
  {
    onValidate({ addValidationRule }) {
      addValidationRule(introspectionWithoutAliases)
    },
    onExecute({ args }) {
      const cost = costOf(args.document, args.contextValue, args.variableValues ?? {})
      if (cost <= limits.cost) return
      throw new GraphQLError(
        `The query costs ${cost}; at most ${limits.cost} is allowed. Ask for fewer records or fields.`,
      )
    },
  },
]
