import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

interface NavLinkProps {
  readonly to: string;
  readonly icon: ReactNode;
  readonly label: string;
  readonly badge?: string;
  /** True for a link that a phone shows on the profile page instead. */
  readonly isSecondary?: boolean;
}

/** Shows one entry of the main navigation. */
export function NavLink({ to, icon, label, badge, isSecondary = false }: NavLinkProps) {
  return (
    <Link to={to} activeProps={{ 'aria-current': 'page' }} className={isSecondary ? 'nav-secondary' : undefined}>
      {icon}
      <span>{label}</span>
      {badge === undefined ? null : <span className="nav-badge">{badge}</span>}
    </Link>
  );
}
