/** The resources whose fields are all columns. A resource with fields that are no columns has its own file. */
import { signups } from '../domain/record/signup.ts'
import { addResource } from './resource.ts'

addResource(signups)
