package tidegate.auction;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A PostgreSQL server of a test's own, in a folder of its own, stopped when the tests end. */
final class Postgres implements AutoCloseable {
    private static final Path VERSIONS = Path.of("/usr/lib/postgresql");
    /** PostgreSQL refuses to run as root. */
    private static final String USER = "postgres";
    private static final boolean ROOT = "root".equals(System.getProperty("user.name"));

    private final Path folder;
    private final int port;
    private int databases;
    private final Thread atExit = new Thread(this::stop);

    private Postgres(Path folder, int port) {
        this.folder = folder;
        this.port = port;
    }

    static boolean isInstalled() {
        return programs().isPresent();
    }

    static Postgres start() throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("auction-postgres-");
        if (ROOT) {
            Files.setOwner(folder, folder.getFileSystem().getUserPrincipalLookupService()
                    .lookupPrincipalByName(USER));
        }
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        Postgres server = new Postgres(folder, port);
        Runtime.getRuntime().addShutdownHook(server.atExit);
        String data = server.data();
        server.run("initdb", "--auth=trust", "--username=" + USER, "--no-sync", "-E", "UTF8", "-D", data);
        server.run("pg_ctl", "start", "--wait", "--silent", "-D", data, "-l", folder.resolve("log").toString(),
                "-o", "-p " + port + " -c listen_addresses=127.0.0.1 -c unix_socket_directories="
                        + " -c fsync=off -c max_connections=200");
        return server;
    }

    /** The JDBC URL of a new database without tables. */
    String emptyDatabase() throws IOException, InterruptedException {
        // Not by JDBC: a site that ends takes its drivers with it.
        String name = "auction" + databases++;
        run("createdb", "-h", "127.0.0.1", "-p", String.valueOf(port), "-U", USER, name);
        return "jdbc:postgresql://127.0.0.1:" + port + "/" + name + "?user=" + USER;
    }

    @Override
    public void close() {
        Runtime.getRuntime().removeShutdownHook(atExit);
        stop();
    }

    private void stop() {
        try {
            run("pg_ctl", "stop", "--silent", "-m", "immediate", "-D", data());
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private String data() {
        return folder.resolve("data").toString();
    }

    private void run(String program, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        if (ROOT) {
            command.addAll(List.of("runuser", "-u", USER, "--"));
        }
        command.add(programs().orElseThrow().resolve(program).toString());
        command.addAll(List.of(arguments));
        Path output = Files.createTempFile("postgres-", ".log");
        try {
            // A file, not a pipe: the server keeps what pg_ctl was given open.
            Process process = new ProcessBuilder(command).directory(Path.of("/").toFile())
                    .redirectErrorStream(true).redirectOutput(output.toFile()).start();
            boolean ended = process.waitFor(60, TimeUnit.SECONDS);
            if (!ended || process.exitValue() != 0) {
                process.destroyForcibly();
                throw new IOException(program + " failed: " + Files.readString(output));
            }
        } finally {
            Files.delete(output);
        }
    }

    /** The folder of the newest version's programs. */
    private static Optional<Path> programs() {
        if (!Files.isDirectory(VERSIONS)) {
            return Optional.empty();
        }
        try (Stream<Path> versions = Files.list(VERSIONS)) {
            return versions.map(version -> version.resolve("bin"))
                    .filter(bin -> Files.isExecutable(bin.resolve("initdb")))
                    .max(Comparator.comparingInt(Postgres::version));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static int version(Path bin) {
        String name = bin.getParent().getFileName().toString();
        return name.matches("[0-9]+") ? Integer.parseInt(name) : 0;
    }
}
