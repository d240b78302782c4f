/** The scalar `ID`, whose arguments are parsed once. */
import {
  GraphQLID,
  GraphQLList,
  GraphQLNonNull,
  GraphQLScalarType,
  type GraphQLSchema,
  type GraphQLType,
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

/** Replaces the scalar in a type. A scalar is both an input and an output type, so the kind of type stays. */
function replace<Type extends GraphQLType>(type: Type): Type
function replace(type: GraphQLType): GraphQLType {
  if (isNonNullType(type)) return new GraphQLNonNull(replace(type.ofType))
  if (isListType(type)) return new GraphQLList(replace(type.ofType))
  return type === GraphQLID ? idScalar : type
}

/** Replaces `ID` in a schema by the scalar that parses record ids: Pothos builds every `ID` as graphql-js' own. */
export function parseIdArguments(schema: GraphQLSchema): GraphQLSchema {
  const types = schema.getTypeMap()
  types.ID = idScalar
  for (const type of Object.values(types)) {
    if (isInputObjectType(type)) for (const field of Object.values(type.getFields())) field.type = replace(field.type)
    if (!isObjectType(type) && !isInterfaceType(type)) continue
    for (const field of Object.values(type.getFields())) {
      field.type = replace(field.type)
      for (const argument of field.args) argument.type = replace(argument.type)
    }
  }
  return schema
}
