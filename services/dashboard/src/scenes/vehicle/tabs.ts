import { type ComponentType, lazy } from 'react';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import type { Me } from '../../common/session/session.ts';

interface TabDefinition {
  readonly name: string;
  /** Users without it do not see the tab. */
  readonly permission: Me['permissions'][number];
  readonly component: ComponentType<{ readonly vehicle: Vehicle }>;
}

/** The parts of the page in their order. Each is loaded when it is opened. */
export const vehicleTabs = [
  {
    name: 'overview',
    permission: 'read',
    component: lazy(async () => ({ default: (await import('./parts/overview-tab.tsx')).OverviewTab })),
  },
  {
    name: 'commands',
    permission: 'commands',
    component: lazy(async () => ({ default: (await import('./commands/commands-tab.tsx')).CommandsTab })),
  },
  {
    name: 'notifications',
    permission: 'self',
    component: lazy(async () => ({ default: (await import('./parts/notifications-tab.tsx')).NotificationsTab })),
  },
  {
    name: 'sharing',
    permission: 'sharing',
    component: lazy(async () => ({ default: (await import('./parts/sharing-tab.tsx')).SharingTab })),
  },
  {
    name: 'routes',
    permission: 'read',
    component: lazy(async () => ({ default: (await import('./parts/routes-tab.tsx')).RoutesTab })),
  },
  {
    name: 'settings',
    permission: 'fleet',
    component: lazy(async () => ({ default: (await import('./settings/settings-tab.tsx')).SettingsTab })),
  },
] as const satisfies readonly TabDefinition[];

export type VehicleTab = (typeof vehicleTabs)[number]['name'];

export const isVehicleTab = (name: string): name is VehicleTab => vehicleTabs.some((tab) => tab.name === name);
