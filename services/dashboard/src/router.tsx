import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { LiveProvider } from './common/live/live-provider.tsx';
import type { Session } from './common/session/session.ts';
import { AppShell } from './common/ui/app-shell.tsx';
import { NotFound } from './common/ui/not-found.tsx';
import { PageFailure } from './common/ui/page-failure.tsx';
import { SignedIn } from './common/ui/signed-in.tsx';
import { parseDaySearch } from './scenes/day/search.ts';
import { parseDriversSearch } from './scenes/drivers/search.ts';
import { parseEventsSearch } from './scenes/events/search.ts';
import { parseGeofencesSearch } from './scenes/geofences/search.ts';
import { parseMapSearch } from './scenes/map/search.ts';
import { parseMediaSearch } from './scenes/media/search.ts';
import { parseProfileSearch } from './scenes/profile/search.ts';
import { parseRoutesSearch } from './scenes/routes/search.ts';
import { parseVehiclesSearch } from './scenes/vehicles/search.ts';
import { parseVideoSearch } from './scenes/video/search.ts';

const rootRoute = createRootRouteWithContext<{ session: Session }>()({ notFoundComponent: NotFound });

const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: (search): { next?: string } =>
    typeof search['next'] === 'string' && search['next'].startsWith('/') && !search['next'].startsWith('//')
      ? { next: search['next'] }
      : {},
  component: lazyRouteComponent(() => import('./scenes/login/page.tsx'), 'LoginPage'),
});

const resetRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/reset-password',
  component: lazyRouteComponent(() => import('./scenes/login/reset-page.tsx'), 'ResetPage'),
});

const registerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/register',
  component: lazyRouteComponent(() => import('./scenes/login/register-page.tsx'), 'RegisterPage'),
});

/** Every page below requires a user. */
const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'app',
  beforeLoad: ({ context, location }) => {
    if (context.session.state.kind !== 'signedIn') throw redirect({ to: '/login', search: { next: location.href } });
  },
  component: () => (
    <SignedIn>
      <LiveProvider>
        <AppShell />
      </LiveProvider>
    </SignedIn>
  ),
});

const startRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/map' });
  },
});

const mapRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/map',
  validateSearch: parseMapSearch,
  component: lazyRouteComponent(() => import('./scenes/map/page.tsx'), 'MapPage'),
});

const videoRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/video',
  validateSearch: parseVideoSearch,
  component: lazyRouteComponent(() => import('./scenes/video/page.tsx'), 'VideoPage'),
});

const eventsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/events/{-$eventId}',
  validateSearch: parseEventsSearch,
  component: lazyRouteComponent(() => import('./scenes/events/page.tsx'), 'EventsPage'),
});

const vehiclesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/vehicles',
  validateSearch: parseVehiclesSearch,
  component: lazyRouteComponent(() => import('./scenes/vehicles/page.tsx'), 'VehiclesPage'),
});

const vehicleRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/vehicles/$vehicleId',
  component: lazyRouteComponent(() => import('./scenes/vehicle/page.tsx'), 'VehiclePage'),
});

const vehicleTabRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/vehicles/$vehicleId/$tab',
  component: lazyRouteComponent(() => import('./scenes/vehicle/page.tsx'), 'VehiclePage'),
});

const dayRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/vehicles/$vehicleId/day/$date',
  validateSearch: parseDaySearch,
  component: lazyRouteComponent(() => import('./scenes/day/page.tsx'), 'DayPage'),
});

const mediaRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/media',
  validateSearch: parseMediaSearch,
  component: lazyRouteComponent(() => import('./scenes/media/page.tsx'), 'MediaPage'),
});

const vehicleMediaRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/vehicles/$vehicleId/media',
  validateSearch: parseMediaSearch,
  component: lazyRouteComponent(() => import('./scenes/media/page.tsx'), 'VehicleMediaPage'),
});

const driversRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/drivers',
  validateSearch: parseDriversSearch,
  component: lazyRouteComponent(() => import('./scenes/drivers/page.tsx'), 'DriversPage'),
});

const driverRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/drivers/$driverId',
  component: lazyRouteComponent(() => import('./scenes/drivers/driver-page.tsx'), 'DriverPage'),
});

const sharingRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/sharing',
  component: lazyRouteComponent(() => import('./scenes/sharing/page.tsx'), 'SharingPage'),
});

const devicesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/devices/{-$tab}',
  component: lazyRouteComponent(() => import('./scenes/devices/page.tsx'), 'DevicesPage'),
});

const geofencesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/geofences/{-$geofenceId}',
  validateSearch: parseGeofencesSearch,
  component: lazyRouteComponent(() => import('./scenes/geofences/page.tsx'), 'GeofencesPage'),
});

const routesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/routes/{-$routeId}',
  validateSearch: parseRoutesSearch,
  component: lazyRouteComponent(() => import('./scenes/routes/page.tsx'), 'RoutesPage'),
});

const groupsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/groups/{-$groupId}',
  component: lazyRouteComponent(() => import('./scenes/groups/page.tsx'), 'GroupsPage'),
});

const profileRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/profile/{-$tab}',
  validateSearch: parseProfileSearch,
  component: lazyRouteComponent(() => import('./scenes/profile/page.tsx'), 'ProfilePage'),
});

const accountRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/account/{-$tab}',
  component: lazyRouteComponent(() => import('./scenes/account/page.tsx'), 'AccountPage'),
});

const messagesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/messages',
  component: lazyRouteComponent(() => import('./scenes/messages/page.tsx'), 'MessagesPage'),
});

const supportRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/support',
  component: lazyRouteComponent(() => import('./scenes/support/page.tsx'), 'SupportPage'),
});

const routeTree = rootRoute.addChildren([
  startRoute,
  loginRoute,
  resetRoute,
  registerRoute,
  appRoute.addChildren([
    mapRoute,
    dayRoute,
    mediaRoute,
    vehicleMediaRoute,
    videoRoute,
    eventsRoute,
    vehiclesRoute,
    vehicleRoute,
    vehicleTabRoute,
    driversRoute,
    driverRoute,
    sharingRoute,
    devicesRoute,
    geofencesRoute,
    routesRoute,
    groupsRoute,
    profileRoute,
    accountRoute,
    messagesRoute,
    supportRoute,
  ]),
]);

/** Creates the router. Routes below the application require a user. */
export const createDashboardRouter = (session: Session) =>
  createRouter({ routeTree, context: { session }, defaultErrorComponent: PageFailure });

/** Loads the code of the page at the current address before the router shows it. */
export function preloadPage(router: ReturnType<typeof createDashboardRouter>): void {
  const { pathname } = window.location;
  const [routes] = router.getMatchedRoutes(pathname === '/' ? mapRoute.fullPath : pathname);
  // A failure appears when the router shows the page.
  for (const route of routes) void router.loadRouteChunk(route);
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createDashboardRouter>;
  }
}
