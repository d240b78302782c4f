/**
 * Generates valid and nearly valid documents for a schema. fast-check makes the random choices, so that it can shrink
 * the documents.
 */
import fc, { type GeneratorValue } from 'fast-check'
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'

/** Names that are properties of every object, or that have a special meaning for promises or JSON. */
const oddNames = 'then constructor toString hasOwnProperty __proto__ toJSON length x _ data'.split(' ')

interface Variable {
  type: string
  fallback: string | null
  value: unknown
}

interface DocumentOptions {
  /** The values of arguments and variables, by the name of their type. Some values may be invalid for the type. */
  values: Record<string, unknown[]>
  /** The names of the fields that are never selected. */
  without?: ReadonlySet<string>
  /** The maximum depth of objects. */
  depth?: number
  /** The maximum number of fields of a selection set. */
  width?: number
}

export interface GeneratedDocument {
  query: string
  variables: Record<string, unknown>
}

export class DocumentMaker {
  readonly #draw: GeneratorValue
  readonly #schema: GraphQLSchema
  readonly #options: Required<DocumentOptions>
  readonly #fragments = new Map<string, string>()
  readonly #variables = new Map<string, Variable>()
  /** The field and arguments of each alias, so that most fields with the same key can be merged. */
  readonly #aliases = new Map<string, string>()
  readonly #arguments = new Map<string, string>()

  constructor(draw: GeneratorValue, schema: GraphQLSchema, options: DocumentOptions) {
    this.#draw = draw
    this.#schema = schema
    this.#options = { without: new Set(), depth: 4, width: 4, ...options }
  }

  make(): GeneratedDocument {
    const root = this.#schema.getQueryType()
    const selection = this.#selection(root!, 0)
    const variables = [...this.#variables]
    const declared = variables.map(
      ([name, { type, fallback }]) => `$${name}: ${type}${fallback === null ? '' : ` = ${fallback}`}`,
    )
    const head = `query ${declared.length > 0 ? `(${declared.join(', ')})` : ''}`
    const given = variables.filter(([, { value }]) => value !== undefined).map(([name, { value }]) => [name, value])
    return {
      query: [`${head} ${selection}`, ...this.#fragments.values()].join('\n'),
      variables: Object.fromEntries(given),
    }
  }

  #number(below: number): number {
    return this.#draw(fc.nat, { max: below - 1 })
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#number(items.length)]!
  }

  #chance(oneIn: number): boolean {
    return this.#number(oneIn) === oneIn - 1
  }

  #selection(type: GraphQLObjectType, depth: number): string {
    const isDeep = depth >= this.#options.depth
    const fields = Object.values(type.getFields()).filter(
      field => !this.#options.without.has(field.name) && !(isDeep && 'getFields' in getNamedType(field.type)),
    )
    if (fields.length === 0) return '{ __typename }'
    const parts: string[] = []
    for (let count = 1 + this.#number(this.#options.width); count > 0; count--) {
      const field = this.#pick(fields)
      parts.push(this.#field(type, field, depth))
      // GraphQL merges a repeated field with the first one, even with other sub-selections.
      if (this.#chance(4)) parts.push(this.#field(type, field, depth))
    }
    if (this.#chance(6)) parts.push('__typename')
    const body = `{ ${parts.join(' ')} }`
    if (!this.#chance(3)) return body
    const condition = this.#pick([type.name, ...type.getInterfaces().map(({ name }) => name)])
    if (condition === type.name && this.#chance(2)) {
      const name = this.#fragmentName()
      this.#fragments.set(name, `fragment ${name} on ${condition} ${body}`)
      return `{ ...${name}${this.#directives()} __typename ...${name} }`
    }
    // On an interface, only fields of the interface can be selected.
    const inner = condition === type.name ? body : '{ __typename }'
    const head = this.#chance(4) ? '...' : `... on ${condition}`
    return `{ ${head}${this.#directives()} ${inner} ${this.#field(type, this.#pick(fields), depth)} }`
  }

  #fragmentName(): string {
    const odd = this.#pick(oddNames)
    return this.#chance(2) && !this.#fragments.has(odd) ? odd : `F${this.#fragments.size}`
  }

  #field(parent: GraphQLObjectType, field: GraphQLField<unknown, unknown>, depth: number): string {
    const head = `${field.name}${this.#argumentsOf(parent, field)}`
    const type = getNamedType(field.type)
    const selection = isInterfaceType(type)
      ? ` { __typename ${this.#implementation(type.name, depth)} }`
      : isObjectType(type)
        ? ` ${this.#selection(type, depth + 1)}`
        : ''
    return `${this.#alias(`${parent.name}.${head}`)}${head}${this.#directives()}${selection}`
  }

  #implementation(name: string, depth: number): string {
    const abstract = this.#schema.getType(name)
    if (!isInterfaceType(abstract)) return ''
    const type = this.#pick(this.#schema.getPossibleTypes(abstract))
    return `... on ${type.name} ${this.#selection(type, depth + 1)}`
  }

  #alias(target: string): string {
    if (!this.#chance(4)) return ''
    const name = this.#pick(oddNames)
    const known = this.#aliases.get(name)
    if (known === undefined && this.#aliases.size < 9) this.#aliases.set(name, target)
    else if (known !== target) return ''
    return `${name}: `
  }

  /**
   * The arguments are equal for all selections of a field, because fields with different arguments cannot be merged.
   */
  #argumentsOf(parent: GraphQLObjectType, field: GraphQLField<unknown, unknown>): string {
    const name = `${parent.name}.${field.name}`
    const known = this.#arguments.get(name)
    if (known !== undefined) return known
    const given = field.args.flatMap(argument => this.#argument(argument))
    const text = given.length > 0 ? `(${given.join(', ')})` : ''
    this.#arguments.set(name, text)
    return text
  }

  #argument({ name, type, defaultValue }: GraphQLArgument): string[] {
    const isRequired = isNonNullType(type) && defaultValue === undefined
    if (!isRequired && this.#chance(2)) return []
    const named = getNamedType(type)
    const values = this.#options.values[named.name]
    if (!values) return []
    const one = this.#pick(values)
    const value = isListType(getNullableType(type)) && !this.#chance(4) ? [one] : one
    if (this.#chance(2)) return [`${name}: ${toLiteral(value, type)}`]
    // A nullable variable is valid for an argument with a default, although its value may be null.
    const isLoose = isNonNullType(type) && defaultValue !== undefined && this.#chance(2)
    const declared = isLoose ? String(getNullableType(type)) : String(type)
    return [`${name}: $${this.#variable(declared, isLoose && this.#chance(2) ? null : value, type)}`]
  }

  #directives(): string {
    if (!this.#chance(5)) return ''
    const names = this.#chance(6) ? ['skip', 'include'] : [this.#pick(['skip', 'include'])]
    return names.map(name => ` @${name}(if: ${this.#condition()})`).join('')
  }

  #condition(): string {
    if (this.#chance(2)) return this.#pick(['true', 'false'])
    const boolean = this.#schema.getType('Boolean') as GraphQLInputType
    return `$${this.#variable('Boolean!', this.#chance(2), boolean)}`
  }

  /** Declares a variable with or without a default and a value, under an unusual or a plain name. */
  #variable(type: string, value: unknown, inputType: GraphQLInputType): string {
    const odd = this.#pick(oddNames)
    const name = this.#chance(3) && !this.#variables.has(odd) ? odd : `v${this.#variables.size}`
    const fallback = value !== null && this.#chance(3) ? toLiteral(value, inputType) : null
    const isGiven = fallback === null ? !this.#chance(12) : this.#chance(2)
    this.#variables.set(name, { type, fallback, value: isGiven ? value : undefined })
    return name
  }
}

function toLiteral(value: unknown, type: GraphQLInputType): string {
  const named = getNamedType(type)
  if (Array.isArray(value)) return `[${value.map(item => toLiteral(item, type)).join(', ')}]`
  if (isEnumType(named)) return String(value)
  if (!isInputObjectType(named) || typeof value !== 'object' || value === null) return JSON.stringify(value)
  const texts = Object.entries(value).map(([key, inner]) => {
    const field = named.getFields()[key]
    return `${key}: ${field ? toLiteral(inner, field.type) : JSON.stringify(inner)}`
  })
  return `{ ${texts.join(', ')} }`
}
