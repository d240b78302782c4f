import { signups } from '../domain/signup.ts'
import { addResource } from './resource.ts'

addResource(signups, 'A customer who consents to marketing now. Personal data.')
