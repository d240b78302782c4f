import SchemaBuilder, {
  BasePlugin,
  type InputFieldMap,
  type InputShapeFromFields,
  type PothosOutputFieldConfig,
  type SchemaTypes,
} from '@pothos/core'
import { defaultFieldResolver, type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from 'graphql'
import { mapMaybePromise } from '../async/maybe-promise.ts'
import { missingPermission } from '../domain/errors.ts'
import type { Permission } from '../domain/token/permission.ts'
import type { FieldComplexity } from './complexity.ts'
import type { Context } from './context.ts'
import { markDirectResolver } from './direct-resolver.ts'
import { spendUnits } from './rate.ts'

/** The lengths of the lists whose length depends on the caller. */
export type CallerLengths = {
  /** The number of grants of the token. */
  tenants: number
}

/** The requirements of a field, checked in R1's order before the field's own resolver. */
interface Policy {
  /** The quota units that the field costs (R28); default: none. */
  cost?: number | ((args: Record<string, unknown>) => number)
  /**
   * The list of the caller that the field returns. The length of this list multiplies the cost of its items. Default:
   * the multiplier of the complexity is used.
   */
  lengthOf?: keyof CallerLengths
  /** The numeric id of the tenant that an argument names; the token must be authorised for it (R19). */
  tenant?: (args: Record<string, unknown>) => number
  permissions?: readonly Permission[]
}

export const policyPlugin = 'policy'

/** Throws `FORBIDDEN` with the first permission that the token lacks. */
export function requirePermissions({ caller }: Pick<Context, 'caller'>, permissions: readonly Permission[]): void {
  const lacking = permissions.find(permission => !caller.token.permissions.includes(permission))
  if (lacking) throw missingPermission(lacking)
}

/**
 * Requires that the token is authorised for a tenant and has permissions, in R1's order.
 *
 * @param tenantId null when no tenant is named
 * @returns a promise only when the scope returns a promise
 * @throws `NOT_FOUND` and `FORBIDDEN` (R19)
 */
export function requireAccess(
  context: Pick<Context, 'caller' | 'scope'>,
  tenantId: number | null,
  permissions: readonly Permission[],
): void | Promise<void> {
  const { caller, scope } = context
  if (tenantId === null) return requirePermissions(context, permissions)
  caller.tenantId ??= tenantId
  return mapMaybePromise(scope.require(caller.token, tenantId), () => requirePermissions(context, permissions))
}

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** The options that the builder was given for the field. */
    pothosOptions?: { policy?: Policy; complexity?: FieldComplexity<Record<string, unknown>> }
  }
}

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      policy: PolicyPlugin<Types>
    }
    interface FieldOptions<
      Types extends SchemaTypes,
      ParentShape,
      Type,
      Nullable,
      Args extends InputFieldMap,
      ResolveShape,
      ResolveReturnShape,
    > {
      policy?: Policy
      complexity?: FieldComplexity<InputShapeFromFields<Args>>
    }
  }
}

type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>

class PolicyPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  /** The fields with a policy. The resolvers and subscribers that check a policy are in `#guarded`. */
  readonly #fields: { type: string; name: string; checkedBy: 'resolve' | 'subscribe' }[] = []
  readonly #guarded = new WeakSet<object>()

  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { kind, parentType: type, name } = field
    // The policy of a subscription is checked once, when it begins, and not at each payload.
    const checkedBy = kind === 'Subscription' ? 'subscribe' : 'resolve'
    if (field.pothosOptions.policy) this.#fields.push({ type, name, checkedBy })
    return field
  }

  /**
   * Throws when the resolver of a field does not check the field's policy, because any token could then read the field.
   */
  override afterBuild(schema: GraphQLSchema): GraphQLSchema {
    for (const { type: typeName, name, checkedBy } of this.#fields) {
      const type = schema.getType(typeName)
      const { [checkedBy]: resolver } = (isObjectType(type) && type.getFields()[name]) || {}
      if (!resolver || !this.#guarded.has(resolver))
        throw new Error(`The policy of ${typeName}.${name} is not checked.`)
    }
    return schema
  }

  override wrapResolve(resolver: Resolver<Types>, field: PothosOutputFieldConfig<Types>): Resolver<Types> {
    const policy = field.pothosOptions.policy
    if (!policy || field.kind === 'Subscription') {
      const { pothosExposedField: exposed, pothosOriginalResolve: original } = field.extensions ?? {}
      // The property is not passed on when another plugin has wrapped or replaced the resolver, because the resolver
      // may then return something else.
      const isExposed = typeof exposed === 'string' && resolver === original && resolver !== defaultFieldResolver
      markDirectResolver(resolver, isExposed ? exposed : null)
      return resolver
    }
    return this.#guard(policy, resolver)
  }

  override wrapSubscribe(
    subscriber: Resolver<Types> | undefined,
    { pothosOptions: { policy } }: PothosOutputFieldConfig<Types>,
  ): Resolver<Types> | undefined {
    return policy && subscriber ? this.#guard(policy, subscriber) : subscriber
  }

  #guard({ cost = 0, tenant, permissions = [] }: Policy, resolver: Resolver<Types>): Resolver<Types> {
    const guarded: GraphQLFieldResolver<unknown, Context, Record<string, unknown>> = (parent, args, context, info) => {
      const authorise = () => requireAccess(context, tenant?.(args) ?? null, permissions)
      const resolve = () => resolver(parent, args, context, info)
      const spending = spendUnits(context, info, typeof cost === 'function' ? cost(args) : cost)
      return mapMaybePromise(spending ? spending.then(authorise) : authorise(), resolve)
    }
    this.#guarded.add(guarded)
    return guarded as Resolver<Types>
  }
}

SchemaBuilder.registerPlugin(policyPlugin, PolicyPlugin)
