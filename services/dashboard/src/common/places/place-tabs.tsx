import { Link, useRouter } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { hasRoute, pages } from '../commands/pages.ts';
import { useCan } from '../session/session-context.ts';
import './places.css';

const names = ['geofences', 'routes', 'groups'] as const;

/** Shows links between geofences, routes and groups. */
export function PlaceTabs() {
  const { t } = useTranslation('places');
  const router = useRouter();
  const can = useCan();
  const tabs = pages.flatMap((page): { name: (typeof names)[number]; path: string }[] => {
    const name = names.find((each) => each === page.name);
    const isVisible = hasRoute(router.routesByPath, page.path) && (!('permission' in page) || can(page.permission));
    return name !== undefined && isVisible ? [{ name, path: page.path }] : [];
  });
  return (
    <nav className="places-tabs" aria-label={t('title')}>
      {tabs.map(({ name, path }) => (
        <Link key={name} to={path} activeProps={{ 'aria-current': 'page' }}>
          {t(name)}
        </Link>
      ))}
    </nav>
  );
}
