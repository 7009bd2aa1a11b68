"""What labs with real sockets, processes and files share, whatever their nodes run in."""
