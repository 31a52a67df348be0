import { Link, useRouter } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { hasRoute, pages } from '../commands/pages.ts';
import { useCan } from '../session/session-context.ts';
import './places.css';

const names = ['geofences', 'routes', 'groups'] as const;

/** Links between geofences, routes and groups. */
export function PlaceTabs() {
  const { t } = useTranslation('places');
  const router = useRouter();
  const can = useCan();
  return (
    <nav className="places-tabs" aria-label={t('title')}>
      {pages.flatMap((page) => {
        const name = names.find((each) => each === page.name);
        const isVisible = !('permission' in page) || can(page.permission);
        return name === undefined || !isVisible || !hasRoute(router.routesByPath, page.path) ? (
          []
        ) : (
          <Link key={name} to={page.path} activeProps={{ 'aria-current': 'page' }}>
            {t(name)}
          </Link>
        );
      })}
    </nav>
  );
}
