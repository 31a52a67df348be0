import type { PlatformRoute } from '../access/platform-route.ts';
import type { Deps } from '../deps.ts';
import { auditRoutes } from '../domains/audit/routes.ts';

/** A domain's rows of the route table. */
type DomainRoutes = (deps: Deps) => readonly PlatformRoute[];

/** One line for each domain, in the order of the OpenAPI document. */
const domains: readonly DomainRoutes[] = [auditRoutes];

export const platformRoutes = (deps: Deps): readonly PlatformRoute[] => domains.flatMap((routesOf) => routesOf(deps));
