import {
  IconBell,
  IconCar,
  IconLogout,
  IconMap,
  IconMapPins,
  IconPhoto,
  IconUser,
  IconVideo,
} from '@tabler/icons-react';
import { Outlet } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { ActivityTray } from '../activity/activity-tray.tsx';
import { AlertCenter } from '../alerts/alert-center.tsx';
import { Commands } from '../commands/commands.tsx';
import { config } from '../config.ts';
import { useOpenCritical } from '../events/use-open-critical.ts';
import { useApplyPreferences } from '../format/use-apply-preferences.ts';
import { useCan, useMe, useSession } from '../session/session-context.ts';
import { AccountLinks } from './account-links.tsx';
import { ConnectionStatus } from './connection-status.tsx';
import { CustomerBar } from './customer-bar.tsx';
import { MoreMenu } from './more-menu.tsx';
import { NavLink } from './nav-link.tsx';

/** Pages that share the tabs of places with the geofences. */
const placePaths = ['/routes', '/groups'];

/** Only a local start needs its code. */
const DemoMenu = lazy(() => import('./demo-menu.tsx').then((module) => ({ default: module.DemoMenu })));

/** Shows navigation, header and the current page. */
export function AppShell() {
  const { t } = useTranslation();
  const session = useSession();
  const me = useMe();
  const can = useCan();
  const critical = useOpenCritical();
  useApplyPreferences();
  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        {t('nav.skip')}
      </a>
      <nav className="shell-nav" aria-label={t('nav.label')}>
        <NavLink to="/map" icon={<IconMap size={20} aria-hidden />} label={t('nav.map')} />
        {can('video') ? (
          <NavLink to="/video" icon={<IconVideo size={20} aria-hidden />} label={t('nav.video')} />
        ) : null}
        <NavLink
          to="/events"
          icon={<IconBell size={20} aria-hidden />}
          label={t('nav.events')}
          {...(critical === undefined ? {} : { badge: critical })}
        />
        <NavLink to="/vehicles" icon={<IconCar size={20} aria-hidden />} label={t('nav.vehicles')} />
        <NavLink
          to="/geofences"
          alsoCurrentFor={placePaths}
          icon={<IconMapPins size={20} aria-hidden />}
          label={t('nav.places')}
        />
        {can('video') ? (
          <NavLink to="/media" isSecondary icon={<IconPhoto size={20} aria-hidden />} label={t('nav.media')} />
        ) : null}
        <MoreMenu />
        <span className="spacer" />
        <Commands />
        <ActivityTray />
        <AccountLinks />
        <NavLink to="/profile" icon={<IconUser size={20} aria-hidden />} label={t('nav.profile')} />
        <button type="button" onClick={() => void session.logOut()}>
          <IconLogout size={20} aria-hidden />
          <span>{t('nav.logOut')}</span>
        </button>
      </nav>
      <header className="shell-bar">
        <strong>{config.product_name}</strong>
        <ConnectionStatus />
        {config.has_demo_menu ? (
          <Suspense>
            <DemoMenu />
          </Suspense>
        ) : null}
        <span>{me.account.name}</span>
      </header>
      <main className="shell-main" id="content" tabIndex={-1}>
        <CustomerBar />
        <Outlet />
      </main>
      <AlertCenter />
    </div>
  );
}
