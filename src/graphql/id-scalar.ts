/** The scalar `ID`, whose arguments are parsed once. */
import {
  GraphQLID,
  type GraphQLInputType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLScalarType,
  type GraphQLSchema,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { RecordId } from './record-id.ts'

/** graphql-js' `ID`, but for the values of arguments. In-process documents pass ids that REST has parsed. */
const idScalar = new GraphQLScalarType<RecordId, string>({
  ...GraphQLID.toConfig(),
  parseValue: value => (value instanceof RecordId ? value : RecordId.parse(GraphQLID.parseValue(value))),
  parseLiteral: node => RecordId.parse(GraphQLID.parseLiteral(node)),
})

function replace(type: GraphQLInputType): GraphQLInputType {
  if (isNonNullType(type)) return new GraphQLNonNull(replace(type.ofType))
  if (isListType(type)) return new GraphQLList(replace(type.ofType))
  return type === GraphQLID ? idScalar : type
}

/**
 * Gives all arguments and input fields of type `ID` the scalar that parses record ids, because Pothos builds every `ID`
 * as graphql-js' own.
 *
 * @param schema is changed
 */
export function parseIdArguments(schema: GraphQLSchema): GraphQLSchema {
  const types = schema.getTypeMap()
  types.ID = idScalar
  for (const type of Object.values(types)) {
    if (isInputObjectType(type)) for (const field of Object.values(type.getFields())) field.type = replace(field.type)
    if (!isObjectType(type) && !isInterfaceType(type)) continue
    for (const { args } of Object.values(type.getFields())) {
      for (const argument of args) argument.type = replace(argument.type)
    }
  }
  return schema
}
