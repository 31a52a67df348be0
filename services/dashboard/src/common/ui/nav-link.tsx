import { Link, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { isInSection } from '../navigation/is-in-section.ts';

interface NavLinkProps {
  readonly to: string;
  readonly icon: ReactNode;
  readonly label: string;
  readonly badge?: string;
  /** True for a link that a phone shows on the profile page instead. */
  readonly isSecondary?: boolean;
  /** Paths of further pages for which the link is marked as current. */
  readonly alsoCurrentFor?: readonly string[];
}

const noPaths: readonly string[] = [];

/** Shows one entry of the main navigation. */
export function NavLink({ to, icon, label, badge, isSecondary = false, alsoCurrentFor = noPaths }: NavLinkProps) {
  const isAlsoCurrent = useRouterState({ select: ({ location }) => isInSection(location.pathname, alsoCurrentFor) });
  return (
    <Link
      to={to}
      activeProps={{ 'aria-current': 'page' }}
      inactiveProps={isAlsoCurrent ? { 'aria-current': 'page' } : {}}
      className={isSecondary ? 'nav-secondary' : undefined}
    >
      {icon}
      <span>{label}</span>
      {badge === undefined ? null : <span className="nav-badge">{badge}</span>}
    </Link>
  );
}
